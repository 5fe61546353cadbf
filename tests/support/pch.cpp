// SPDX-License-Identifier: Apache-2.0
// Only here to own the precompiled header.
