// SPDX-License-Identifier: Apache-2.0
//! The C boundary of the chat templates: see include/whinchat_rust.h for the contract. A panic
//! becomes a status; the only unsafe code is the passing of pointers.
use std::panic::{catch_unwind, AssertUnwindSafe};

use super::{ChatTemplate, Status, TemplateError};

#[repr(C)]
pub struct TemplateResult {
    status: Status,
    line: u32,
    text: *mut u8,
    text_size: usize,
}

impl TemplateResult {
    fn new(status: Status, line: u32, text: String) -> TemplateResult {
        let bytes = text.into_bytes().into_boxed_slice();
        let text_size = bytes.len();
        let text = Box::into_raw(bytes).cast::<u8>();
        TemplateResult { status, line, text, text_size }
    }

    fn from_error(error: TemplateError) -> TemplateResult {
        TemplateResult::new(error.status, error.line, error.message)
    }

    fn from_panic() -> TemplateResult {
        TemplateResult::new(Status::Panic, 0, "a fault in the template engine".to_string())
    }
}

/// # Safety
/// `bytes` points to `size` readable bytes that outlive the use of the result, or size is 0.
unsafe fn to_text<'a>(bytes: *const u8, size: usize) -> Result<&'a str, TemplateError> {
    if size == 0 {
        return Ok("");
    }
    // SAFETY: the caller's promise.
    let bytes = unsafe { std::slice::from_raw_parts(bytes, size) };
    std::str::from_utf8(bytes).map_err(|error| TemplateError {
        status: Status::Failed,
        message: format!("invalid UTF-8 at byte {}", error.valid_up_to()),
        line: 0,
    })
}

/// # Safety
/// As the header says: `source` has `source_size` bytes and `result` can be written.
#[no_mangle]
pub unsafe extern "C" fn whinchat_template_compile(
    source: *const u8,
    source_size: usize,
    result: *mut TemplateResult,
) -> *mut ChatTemplate {
    // SAFETY: the caller's promise.
    let compiled = catch_unwind(AssertUnwindSafe(|| {
        unsafe { to_text(source, source_size) }.and_then(ChatTemplate::compile)
    }));
    let (template, outcome) = match compiled {
        Ok(Ok(template)) => {
            let outcome = TemplateResult::new(Status::Ok, 0, String::new());
            (Box::into_raw(Box::new(template)), outcome)
        }
        Ok(Err(error)) => (std::ptr::null_mut(), TemplateResult::from_error(error)),
        Err(_) => (std::ptr::null_mut(), TemplateResult::from_panic()),
    };
    // SAFETY: the caller's promise.
    unsafe { result.write(outcome) };
    template
}

/// # Safety
/// As the header says: `template` came from compile, `context` has `context_size` bytes and
/// `result` can be written.
#[no_mangle]
pub unsafe extern "C" fn whinchat_template_render(
    template: *const ChatTemplate,
    context: *const u8,
    context_size: usize,
    now_unix_seconds: i64,
    result: *mut TemplateResult,
) {
    let now = (now_unix_seconds >= 0).then_some(now_unix_seconds);
    let rendered = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: the caller's promise.
        let (template, context) = unsafe { (&*template, to_text(context, context_size)?) };
        template.render(context, now)
    }));
    let outcome = match rendered {
        Ok(Ok(text)) => TemplateResult::new(Status::Ok, 0, text),
        Ok(Err(error)) => TemplateResult::from_error(error),
        Err(_) => TemplateResult::from_panic(),
    };
    // SAFETY: the caller's promise.
    unsafe { result.write(outcome) };
}

/// # Safety
/// `template` came from compile and is not used afterwards; null is allowed.
#[no_mangle]
pub unsafe extern "C" fn whinchat_template_free(template: *mut ChatTemplate) {
    if !template.is_null() {
        // SAFETY: the caller's promise. A panic in a destructor must not cross the boundary.
        let _ = catch_unwind(AssertUnwindSafe(|| drop(unsafe { Box::from_raw(template) })));
    }
}

/// # Safety
/// `result` was filled by compile or render; null is allowed.
#[no_mangle]
pub unsafe extern "C" fn whinchat_template_result_free(result: *mut TemplateResult) {
    if result.is_null() {
        return;
    }
    // SAFETY: the caller's promise; text and text_size come from TemplateResult::new.
    unsafe {
        let text = std::mem::replace(&mut (*result).text, std::ptr::null_mut());
        if !text.is_null() {
            let slice = std::ptr::slice_from_raw_parts_mut(text, (*result).text_size);
            drop(Box::from_raw(slice));
        }
        (*result).text_size = 0;
    }
}
