// SPDX-License-Identifier: Apache-2.0
// MSL to C++: attributes are taken out of the text and become tables; sizes and offsets are left to the compiler.
#include <map>
#include <set>

#include "msl.hpp"
#include "msl_lexer.hpp"

namespace sim_metal::msl {
namespace {

/// A parameter of a kernel or a member of a struct.
struct Declaration {
  std::vector<Attribute> attributes;
  std::string name;
  bool is_pointer = false;
  bool has_space = false;
  bool is_constant = false;  ///< in the address space of that name
  bool is_function = false;
};

bool is_address_space(const std::string& name) {
  return name == "device" || name == "constant" || name == "threadgroup" || name == "thread";
}

Declaration read_declaration(const Tokens& t, size_t begin, size_t end) {
  Declaration d;
  int angle = 0;
  for (size_t i = begin; i < end;) {
    if (starts_attribute(t, i)) {
      i = read_attribute(t, i, d.attributes);
      continue;
    }
    if (t[i].is("<")) ++angle;
    if (t[i].is(">")) --angle;
    if (t[i].is_name() && is_address_space(t[i].text)) d.has_space = true;
    if (t[i].is("constant")) d.is_constant = true;
    if (angle == 0) {
      if (t[i].is("*") || t[i].is("&")) d.is_pointer = true;
      if (t[i].is("(")) d.is_function = true;
      if (t[i].is("[") || t[i].is("=")) {
        while (i < end && !starts_attribute(t, i)) ++i;
        continue;
      }
      if (t[i].is_name()) d.name = t[i].text;
    }
    ++i;
  }
  return d;
}

bool is_vector(const std::string& name) {
  static const std::set<std::string> names = [] {
    std::set<std::string> all;
    for (const char* element :
         {"char", "uchar", "short", "ushort", "int", "uint", "long", "ulong", "float", "half", "bool"}) {
      for (const char* lanes : {"2", "3", "4"}) all.insert(std::string(element) + lanes);
    }
    return all;
  }();
  return names.contains(name);
}

/// The member of Context behind a built-in attribute, or null.
const char* builtin(const std::string& attribute) {
  static const std::map<std::string, const char*> members = {{"thread_position_in_grid", "grid_position"},
                                                             {"threadgroup_position_in_grid", "group_position"},
                                                             {"thread_position_in_threadgroup", "local_position"},
                                                             {"threads_per_grid", "grid_size"},
                                                             {"threadgroups_per_grid", "groups"},
                                                             {"threads_per_threadgroup", "group_size"},
                                                             {"thread_index_in_threadgroup", "local_index"}};
  const auto found = members.find(attribute);
  return found == members.end() ? nullptr : found->second;
}

bool is_barrier(const Token& token) {
  return token.text == "threadgroup_barrier" || token.text == "simdgroup_barrier";
}

/// A function that gives the size of a kernel's threadgroup variables. There may be pointers only, and no section.
std::string measure(const std::string& kernel) {
  std::string bounds;
  for (const char* bound : {"__start_threadgroup_", "__stop_threadgroup_"}) {
    bounds += "extern \"C\" __attribute__((weak, visibility(\"hidden\"))) char " + (bound + kernel) + "[];\n";
  }
  return bounds + "static long s_" + kernel + "() { return __stop_threadgroup_" + kernel + " - __start_threadgroup_" +
         kernel + "; }\n";
}

class Translator {
 public:
  explicit Translator(const std::string& source) : t_(lex(source)) {}
  OrText<Translation> run();

 private:
  void read_struct(size_t at);
  void add_member(const std::string& owner, const Declaration& member, int& next, std::string& rows, int& count);
  void read_kernel(size_t at);
  void read_parameters(const std::string& kernel, size_t open, size_t close, std::string& rows, std::string& arguments,
                       int& count);
  void add_parameter(const std::string& kernel, const Declaration& parameter, int position, std::string& rows,
                     std::string& arguments);
  size_t copy_threadgroup(size_t at);
  size_t step(size_t at);

  Tokens t_;
  std::string code_, tables_, kernels_, errors_;
  std::vector<Attribute> pending_;  ///< attributes before a kernel
  int braces_ = 0;
  int parentheses_ = 0;
  std::string kernel_;                ///< the kernel at hand
  size_t body_end_ = 0;               ///< of it
  bool helpers_use_barrier_ = false;  ///< a function that is no kernel has one: any kernel may call it
};

OrText<Translation> Translator::run() {
  for (size_t at = 0; at < t_.size();) at = step(at);
  if (!errors_.empty()) return errors_;
  Translation result;
  result.code = std::move(code_);
  result.tables =
      "\nnamespace sim_metal {\nenum { helpers_use_barrier = " + std::to_string(helpers_use_barrier_ ? 1 : 0) +
      " };\n" + tables_ +
      "extern \"C\" __attribute__((visibility(\"default\"))) const kernel_entry sim_metal_kernels[] = {" + kernels_ +
      "{nullptr, nullptr, 0, nullptr, 0, 0, nullptr}};\n}\n";
  return result;
}

/// Handles the token at `at`; gives the next one to look at.
size_t Translator::step(size_t at) {
  if (starts_attribute(t_, at)) {
    const size_t next = read_attribute(t_, at, pending_);
    if (!pending_.empty() && pending_.back().name == "kernel") {
      t_.insert(t_.begin() + static_cast<ptrdiff_t>(next), {Token::Kind::identifier, "kernel"});
    }
    return next;
  }
  const Token token = t_[at];
  if (token.is("{")) ++braces_;
  if (token.is("}")) --braces_;
  if (token.is("(")) ++parentheses_;
  if (token.is(")")) --parentheses_;
  if (token.is(";") || token.is("}")) pending_.clear();
  if (token.is_name()) {
    const bool top = braces_ == 0 && parentheses_ == 0;
    if (is_barrier(token)) helpers_use_barrier_ = helpers_use_barrier_ || at >= body_end_;
    if (token.text == "struct" && braces_ == 0) read_struct(at);
    if (token.text == "kernel" && top) read_kernel(at);
    if (token.text == "threadgroup") return copy_threadgroup(at);
    const size_t next = skip_space(t_, at + 1);
    if (is_vector(token.text) && next < t_.size() && t_[next].is("(")) {
      code_ += "::sim_metal::make<" + token.text + ">";
      return at + 1;
    }
  }
  code_ += token.text;
  return at + 1;
}

/// A shared variable, or a pointer to shared memory.
size_t Translator::copy_threadgroup(size_t at) {
  bool pointer = parentheses_ > 0 || braces_ == 0;
  for (size_t i = at; !pointer && i < t_.size() && !t_[i].is(";") && !t_[i].is("="); ++i) {
    pointer = t_[i].is("*") || t_[i].is("&");
  }
  code_ += pointer ? "SIM_METAL_SHARED_POINTER" : "SIM_METAL_SHARED_VARIABLE(" + kernel_ + ")";
  return at + 1;
}

void Translator::read_struct(size_t at) {
  const size_t name = skip_space(t_, at + 1);
  const size_t open = skip_space(t_, name + 1);
  if (open >= t_.size() || !t_[name].is_name() || !t_[open].is("{")) return;
  const size_t end = closing(t_, open, "{", "}");
  const std::string owner = t_[name].text;
  std::string rows;
  int next = 0;
  int count = 0;
  size_t begin = open + 1;
  for (size_t i = begin; i < end; ++i) {
    if (t_[i].is("{")) {
      i = closing(t_, i, "{", "}");
      begin = i + 1;
      continue;
    }
    if (!t_[i].is(";")) continue;
    add_member(owner, read_declaration(t_, begin, i), next, rows, count);
    begin = i + 1;
  }
  if (count == 0) return;
  tables_ += "static const member_entry m_" + owner + "[] = {" + rows + "};\ntemplate <> struct members<" + owner +
             "> { static constexpr const member_entry* table = m_" + owner +
             "; static constexpr int count = " + std::to_string(count) + "; };\n";
}

void Translator::add_member(const std::string& owner, const Declaration& member, int& next, std::string& rows,
                            int& count) {
  if (member.is_function || member.name.empty()) return;
  int id = next;
  for (const auto& attribute : member.attributes) {
    if (attribute.name == "id") id = attribute.index;
  }
  const std::string type = "decltype(" + owner + "::" + member.name + ")";
  rows += "{" + std::to_string(id) + ", (int)__builtin_offsetof(" + owner + ", " + member.name + "), (int)sizeof(" +
          owner + "::" + member.name + "), is_pointer<" + type + ">::value, is_pointer<" + type + ">::count, \"" +
          member.name + "\"}, ";
  next = id + 1;
  ++count;
}

void Translator::read_kernel(size_t at) {
  size_t open = at;
  while (open < t_.size() && !t_[open].is("(")) {
    open = starts_attribute(t_, open) ? read_attribute(t_, open, pending_) : open + 1;
  }
  if (open >= t_.size()) return;
  size_t name_at = open - 1;
  while (!t_[name_at].is_name()) --name_at;
  const std::string name = t_[name_at].text;
  int max_threads = 0;
  for (const auto& attribute : pending_) {
    if (attribute.name == "max_total_threads_per_threadgroup") max_threads = attribute.index;
  }
  pending_.clear();
  std::string rows, arguments;
  int count = 0;
  const size_t close = closing(t_, open, "(", ")");
  read_parameters(name, open, close, rows, arguments, count);
  const size_t body = skip_space(t_, close + 1);
  if (body < t_.size() && t_[body].is("{")) body_end_ = closing(t_, body, "{", "}");
  kernel_ = name;
  bool has_barrier = false;
  bool has_threadgroup = false;
  for (size_t i = body; i < body_end_; ++i) {
    has_barrier = has_barrier || is_barrier(t_[i]);
    has_threadgroup = has_threadgroup || t_[i].is("threadgroup");
  }
  tables_ += "static const parameter_entry p_" + name + "[] = {" + rows + "};\nstatic void r_" + name +
             "(const context* c) { ::" + name + "(" + arguments + "); }\n" + (has_threadgroup ? measure(name) : "");
  kernels_ += "{\"" + name + "\", r_" + name + ", " + std::to_string(count) + ", p_" + name + ", " +
              std::to_string(max_threads) + ", " + (has_barrier ? "1" : "helpers_use_barrier") + ", " +
              (has_threadgroup ? "s_" + name : "nullptr") + "}, ";
}

void Translator::read_parameters(const std::string& kernel, size_t open, size_t close, std::string& rows,
                                 std::string& arguments, int& count) {
  size_t begin = skip_space(t_, open + 1);
  int depth = 0;
  for (size_t i = begin; i <= close && begin < close; ++i) {
    if (i < close) {
      for (const char* bracket : {"(", "<", "[", "{"}) depth += t_[i].is(bracket) ? 1 : 0;
      for (const char* bracket : {")", ">", "]", "}"}) depth -= t_[i].is(bracket) ? 1 : 0;
    }
    if (i != close && !(depth == 0 && t_[i].is(","))) continue;
    add_parameter(kernel, read_declaration(t_, begin, i), count++, rows, arguments);
    begin = i + 1;
  }
}

void Translator::add_parameter(const std::string& kernel, const Declaration& p, int position, std::string& rows,
                               std::string& arguments) {
  const std::string type = "parameter_of<decltype(&" + kernel + "), " + std::to_string(position) + ">::type";
  const std::string where = "kernel '" + kernel + "': parameter '" + p.name + "'";
  int kind = -1;
  int index = 0;
  std::string value, attribute;
  for (const auto& a : p.attributes) {
    attribute = a.name;
    if (a.name == "buffer" || a.name == "threadgroup") {
      kind = a.name == "buffer" ? Parameter::buffer : Parameter::threadgroup;
      index = a.index;
      value = "as_argument<" + type + ">(c->" + (a.name == "buffer" ? "buffers" : "threadgroup") + "[" +
              std::to_string(index) + "])";
      if (index < 0 || index > 30) errors_ += where + ": index " + std::to_string(index) + " is not in 0 to 30\n";
    } else if (const char* member = builtin(a.name)) {
      kind = Parameter::builtin;
      value = "as_id<" + type + ">(c->" + member + ")";
    } else {
      errors_ += where + ": attribute [[" + a.name + "]] is not supported\n";
    }
  }
  if (kind < 0) errors_ += where + " has no binding attribute\n";
  if (p.is_pointer && !p.has_space) errors_ += where + " is a pointer without an address space\n";
  const std::string target = "unreferenced<" + type + ">::type";
  const std::string plain = "unconst<" + target + ">::type";
  arguments += (position != 0 ? ", " : "") + value;
  rows += "{" + std::to_string(kind) + ", " + std::to_string(index) + ", (int)sizeof(" + target + "), (int)alignof(" +
          target + "), is_const<" + target + ">::value" + (p.is_constant ? " + 1" : "") + ", unreferenced<" + type +
          ">::reference, \"" + attribute + "\", \"" + p.name + "\", members<" + plain + ">::table, members<" + plain +
          ">::count, (int)sizeof(" + plain + "), (int)alignof(" + plain + ")}, ";
}

}  // namespace

OrText<Translation> translate(const std::string& preprocessed) {
  return Translator(preprocessed).run();
}

}  // namespace sim_metal::msl
