// SPDX-License-Identifier: Apache-2.0
//! Executes a model's Jinja chat template as Python's `transformers` does: the same block trimming,
//! globals and filters, Python's own JSON, string methods and number formats. Templates are foreign
//! code: they can't include files, and a budget bounds their time, memory and nesting.
mod ffi;
mod generation_tag;
mod python_json;
mod python_str;
mod strftime;

use minijinja::syntax::SyntaxConfig;
use minijinja::{AutoEscape, Environment, Error, ErrorKind, Output, State, Value};

pub const TEMPLATE_NAME: &str = "chat_template";

/// Instructions and 64-byte pieces of text one render may use: the largest templates need about 200
/// for a message, so several thousand messages fit, and an endless loop ends at once.
const RENDER_FUEL: u64 = 1_000_000;
/// Of the thread a template renders in, mapped only as far as it is touched. Fuel bounds how deeply
/// a template can nest a value in itself; printing or dropping one recurses that deeply, and this is
/// enough for it. Without it a hostile template ends the process.
const RENDER_STACK_BYTES: usize = 384 << 20;
/// Macros in macros. Templates that print nested JSON schemas use about a dozen.
const MAX_MACRO_DEPTH: usize = 100;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum Status {
    Ok = 0,
    SyntaxError = 1,
    Refused = 2,
    Failed = 3,
    TooCostly = 4,
    Panic = 5,
}

#[derive(Debug)]
pub struct TemplateError {
    pub status: Status,
    pub message: String,
    pub line: u32,
}

pub struct ChatTemplate {
    environment: Environment<'static>,
}

/// Marks an error as the template's own refusal; carries nothing.
#[derive(Debug)]
struct RaisedByTemplate;

impl std::fmt::Display for RaisedByTemplate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("raised by the template")
    }
}

impl std::error::Error for RaisedByTemplate {}

impl ChatTemplate {
    pub fn compile(source: &str) -> Result<ChatTemplate, TemplateError> {
        let mut environment = new_environment().map_err(to_template_error)?;
        environment
            .add_template_owned(TEMPLATE_NAME, generation_tag::replace(source))
            .map_err(to_template_error)?;
        Ok(ChatTemplate { environment })
    }

    /// `context`: a JSON object whose members are the template's variables.
    pub fn render(&self, context: &str, now: Option<i64>) -> Result<String, TemplateError> {
        let variables: Value = serde_json::from_str(context).map_err(|error| TemplateError {
            status: Status::Failed,
            message: format!("the conversation is not valid JSON: {error}"),
            line: 0,
        })?;
        let with_now = Value::from_pairs([(strftime::NOW_VARIABLE, now)]);
        let context = minijinja::value::merge_maps([with_now, variables]);
        let render = || {
            let template = self.environment.get_template(TEMPLATE_NAME)?;
            template.render(context)
        };
        std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().stack_size(RENDER_STACK_BYTES);
            match thread.spawn_scoped(scope, render).map(|thread| thread.join()) {
                Ok(Ok(rendered)) => rendered.map_err(to_template_error),
                Ok(Err(panic)) => std::panic::resume_unwind(panic),
                Err(error) => Err(TemplateError {
                    status: Status::Failed,
                    message: format!("can't start a thread to render in: {error}"),
                    line: 0,
                }),
            }
        })
    }
}

fn new_environment() -> Result<Environment<'static>, Error> {
    let mut environment = Environment::new();
    environment.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()?);
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    environment.set_formatter(format_like_python);
    environment.set_unknown_method_callback(python_str::call_method);
    environment.set_fuel(Some(RENDER_FUEL));
    environment.set_recursion_limit(MAX_MACRO_DEPTH);
    environment.add_filter("tojson", python_json::tojson);
    environment.add_filter("trim", python_str::trim);
    environment.add_function("raise_exception", raise_exception);
    environment.add_function("strftime_now", strftime::strftime_now);
    Ok(environment)
}

fn raise_exception(message: String) -> Result<Value, Error> {
    Err(Error::new(ErrorKind::InvalidOperation, message).with_source(RaisedByTemplate))
}

/// `{{ x }}`: as minijinja does it, but floats as Python writes them ("1e+20").
fn format_like_python(output: &mut Output, state: &mut State, value: &Value) -> Result<(), Error> {
    if value.is_number() && !value.is_integer() {
        if let Ok(number) = f64::try_from(value.clone()) {
            let text = python_json::float_repr(number);
            return output.write_str(&text).map_err(Error::from);
        }
    }
    minijinja::escape_formatter(output, state, value)
}

fn to_template_error(error: Error) -> TemplateError {
    // An error inside a macro is wrapped at each call; the innermost one knows the cause.
    let mut cause = &error;
    let mut is_raised = false;
    let mut source = std::error::Error::source(&error);
    while let Some(inner) = source {
        if let Some(inner) = inner.downcast_ref::<Error>() {
            cause = inner;
        }
        is_raised |= inner.is::<RaisedByTemplate>();
        source = inner.source();
    }
    let status = match cause.kind() {
        _ if is_raised => Status::Refused,
        ErrorKind::SyntaxError | ErrorKind::BadEscape => Status::SyntaxError,
        ErrorKind::OutOfFuel => Status::TooCostly,
        _ => Status::Failed,
    };
    let message = match cause.detail() {
        Some(detail) if status == Status::Refused => detail.to_string(),
        Some(detail) => format!("{}: {detail}", cause.kind()),
        None => cause.kind().to_string(),
    };
    let line = cause.line().or(error.line()).unwrap_or(0);
    TemplateError { status, message, line: u32::try_from(line).unwrap_or(0) }
}

#[cfg(test)]
mod tests;
