// SPDX-License-Identifier: Apache-2.0
//! The Rust side of Whinchat: one folder per subject, each with an `ffi.rs` that holds its part of
//! the C boundary (`include/whinchat_rust.h`). Everything else is safe Rust.
pub mod chat_template;
