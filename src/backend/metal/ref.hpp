// SPDX-License-Identifier: Apache-2.0
// Owns one reference to an Objective-C object.
#pragma once
#import <Foundation/Foundation.h>

#include <utility>

namespace pianola::backend::metal {

template <class T>
class Ref {
 public:
  Ref() = default;
  /// Takes over the reference that new..., copy or retain gave.
  explicit Ref(T owned) : object_(owned) {}
  static Ref retained(T object) { return Ref([object retain]); }
  Ref(const Ref& other) : object_([other.object_ retain]) {}
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nil)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() { [object_ release]; }

  T get() const { return object_; }
  explicit operator bool() const { return object_ != nil; }

 private:
  T object_ = nil;
};

}  // namespace pianola::backend::metal
