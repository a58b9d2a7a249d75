// SPDX-License-Identifier: Apache-2.0
//! `strftime_now(format)`: the local time through C's strftime, which is what Python uses too.
use std::ffi::CString;

use minijinja::{Error, ErrorKind, State};

/// The context's variable that holds the time to tell, in Unix seconds; none: the clock's.
pub const NOW_VARIABLE: &str = "__whinchat_now";

const MAX_BYTES: usize = 1024;

pub fn strftime_now(state: &State, format: String) -> Result<String, Error> {
    let now = state.lookup(NOW_VARIABLE).and_then(|value| value.as_i64());
    let format = CString::new(format).map_err(|_| invalid("the format has a zero byte"))?;
    if format.is_empty() {
        return Ok(String::new());
    }
    let mut buffer = [0u8; MAX_BYTES];
    // SAFETY: `time` and `local` are plain values of this frame; strftime writes at most MAX_BYTES
    // and reads a zero-terminated format.
    let size = unsafe {
        let time = match now {
            Some(seconds) => seconds as libc::time_t,
            None => libc::time(std::ptr::null_mut()),
        };
        let mut local: libc::tm = std::mem::zeroed();
        if libc::localtime_r(&time, &mut local).is_null() {
            return Err(invalid("the time is out of range"));
        }
        libc::strftime(buffer.as_mut_ptr().cast(), MAX_BYTES, format.as_ptr(), &local)
    };
    if size == 0 {
        return Err(invalid("the result is empty or longer than 1,024 bytes"));
    }
    Ok(String::from_utf8_lossy(&buffer[..size]).into_owned())
}

fn invalid(reason: &str) -> Error {
    Error::new(ErrorKind::InvalidOperation, format!("strftime_now: {reason}"))
}
