// SPDX-License-Identifier: Apache-2.0
// The argument list of a kernel: how KERNEL(...) walks its entries. Part of pianola/kernel.h.
//
// An entry such as IN(float, x) becomes (kind, qualifier, type, name, number, set, binding), and each role
// (parameter, local, record, ...) of a target says what it makes of each kind. Numbers of -1 mean "the next".
#pragma once

#define PIANOLA_K_EMPTY
#define PIANOLA_K_PARENS ()
#define PIANOLA_K_EVAL(...) PIANOLA_K_EVAL4(PIANOLA_K_EVAL4(PIANOLA_K_EVAL4(PIANOLA_K_EVAL4(__VA_ARGS__))))
#define PIANOLA_K_EVAL4(...) PIANOLA_K_EVAL3(PIANOLA_K_EVAL3(PIANOLA_K_EVAL3(PIANOLA_K_EVAL3(__VA_ARGS__))))
#define PIANOLA_K_EVAL3(...) PIANOLA_K_EVAL2(PIANOLA_K_EVAL2(PIANOLA_K_EVAL2(PIANOLA_K_EVAL2(__VA_ARGS__))))
#define PIANOLA_K_EVAL2(...) PIANOLA_K_EVAL1(PIANOLA_K_EVAL1(PIANOLA_K_EVAL1(PIANOLA_K_EVAL1(__VA_ARGS__))))
#define PIANOLA_K_EVAL1(...) __VA_ARGS__

// PIANOLA_K_EACH(role, extra, e0, e1, ...): role_KIND(extra, ...) for each entry.
#define PIANOLA_K_EACH(role, extra, ...) __VA_OPT__(PIANOLA_K_EVAL(PIANOLA_K_EACH_(role, extra, __VA_ARGS__)))
#define PIANOLA_K_EACH_(role, extra, entry, ...)   \
  PIANOLA_K_ROLE(role, extra, PIANOLA_K_E_##entry) \
  __VA_OPT__(PIANOLA_K_EACH_AGAIN PIANOLA_K_PARENS(role, extra, __VA_ARGS__))
#define PIANOLA_K_EACH_AGAIN() PIANOLA_K_EACH_
#define PIANOLA_K_ROLE(role, extra, ...) PIANOLA_K_ROLE_(role, extra, __VA_ARGS__)
#define PIANOLA_K_ROLE_(role, extra, kind, ...) PIANOLA_K_##role##_##kind(extra, __VA_ARGS__)

// Without its first, empty element: turns ", a, b" into "a, b".
#define PIANOLA_K_REST(...) PIANOLA_K_REST_(__VA_ARGS__)
#define PIANOLA_K_REST_(first, ...) __VA_ARGS__

// __restrict, or nothing if the list holds MAY_ALIAS.
#define PIANOLA_K_RESTRICT(...) PIANOLA_K_SECOND(~PIANOLA_K_EACH(ALIAS, ~, __VA_ARGS__), __restrict, ~)
#define PIANOLA_K_SECOND(...) PIANOLA_K_SECOND_(__VA_ARGS__)
#define PIANOLA_K_SECOND_(first, second, ...) second
#define PIANOLA_K_ALIAS_BUF(...)
#define PIANOLA_K_ALIAS_VAL(...)
#define PIANOLA_K_ALIAS_VALA(...)
#define PIANOLA_K_ALIAS_SHM(...)
#define PIANOLA_K_ALIAS_PRV(...)
#define PIANOLA_K_ALIAS_PRVA(...)
#define PIANOLA_K_ALIAS_OPQ(...)
#define PIANOLA_K_ALIAS_MAL(...) , PIANOLA_K_EMPTY

#define PIANOLA_K_E_IN(type, name) BUF, const, type, name, 1, -1, -1
#define PIANOLA_K_E_OUT(type, name) BUF, , type, name, 2, -1, -1
#define PIANOLA_K_E_INOUT(type, name) BUF, , type, name, 3, -1, -1
#define PIANOLA_K_E_IN_AT(set, binding, type, name) BUF, const, type, name, 1, set, binding
#define PIANOLA_K_E_OUT_AT(set, binding, type, name) BUF, , type, name, 2, set, binding
#define PIANOLA_K_E_INOUT_AT(set, binding, type, name) BUF, , type, name, 3, set, binding
#define PIANOLA_K_E_VAL(type, name) VAL, , type, name, 1, 0, 0
#define PIANOLA_K_E_VALA(type, name, count) VALA, , type, name, count, 0, 0
#define PIANOLA_K_E_SHARED(type, name, count) SHM, , type, name, count, 0, 0
#define PIANOLA_K_E_PRV(type, name) PRV, , type, name, 1, 0, 0
#define PIANOLA_K_E_PRVA(type, name, count) PRVA, , type, name, count, 0, 0
#define PIANOLA_K_E_OPAQUE OPQ, , int, opaque, 0, 0, 0
#define PIANOLA_K_E_MAY_ALIAS MAL, , int, may_alias, 0, 0, 0
