// SPDX-License-Identifier: Apache-2.0
// clang gives every frame of a .mm file libobjc's personality, which cannot match C++ catch clauses. This one
// sends C++ exceptions to the C++ personality and leaves Objective-C's to libobjc.
#include <dlfcn.h>
#include <unwind.h>

#include <cstdint>

using Personality = _Unwind_Reason_Code(int, _Unwind_Action, _Unwind_Exception_Class, _Unwind_Exception*,
                                        _Unwind_Context*);
extern "C" Personality __gxx_personality_v0;

extern "C" __attribute__((visibility("default"))) _Unwind_Reason_Code
__gnu_objc_personality_v0(int version, _Unwind_Action actions, _Unwind_Exception_Class kind,
                          _Unwind_Exception* exception, _Unwind_Context* context) {
  static auto* const objc = reinterpret_cast<Personality*>(dlsym(RTLD_NEXT, "__gnu_objc_personality_v0"));
  constexpr uint64_t cxx = 0x474e5543432b2b;  // "GNUCC++", the upper seven bytes
  if (kind >> 8 == cxx || objc == nullptr) return __gxx_personality_v0(version, actions, kind, exception, context);
  return objc(version, actions, kind, exception, context);
}
