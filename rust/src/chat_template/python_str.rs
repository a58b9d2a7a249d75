// SPDX-License-Identifier: Apache-2.0
//! Python's methods on strings and dicts. Most come from minijinja-contrib's pycompat; here are those
//! it lacks, and those that depend on what Python calls white space (Unicode's, and the four
//! separators U+001C to U+001F) or a line break.
use minijinja::value::{from_args, Value};
use minijinja::{Error, ErrorKind, State};
use minijinja_contrib::pycompat;

pub fn call_method(
    state: &mut State,
    value: &Value,
    method: &str,
    args: &[Value],
) -> Result<Value, Error> {
    if let Some(text) = value.as_str() {
        if let Some(result) = call_string_method(text, method, args)? {
            return Ok(result);
        }
    }
    pycompat::unknown_method_callback(state, value, method, args)
}

/// The filter `trim`, which is Python's `str.strip`.
pub fn trim(value: String, chars: Option<String>) -> String {
    strip(&value, chars.as_deref(), true, true).to_string()
}

/// Nothing for a method that pycompat has right.
fn call_string_method(text: &str, method: &str, args: &[Value]) -> Result<Option<Value>, Error> {
    let result = match method {
        "strip" | "lstrip" | "rstrip" => {
            let (chars,): (Option<&str>,) = from_args(args)?;
            Value::from(strip(text, chars, method != "rstrip", method != "lstrip"))
        }
        "split" if args.first().map_or(true, Value::is_none) => {
            let (_, max_splits): (Option<&str>, Option<i64>) = from_args(args)?;
            split_at_white_space(text, max_splits)
        }
        "rsplit" => {
            let (separator, max_splits): (&str, Option<i64>) = from_args(args)?;
            split_from_right(text, separator, max_splits)?
        }
        "splitlines" => {
            let (keep_ends,): (Option<bool>,) = from_args(args)?;
            split_lines(text, keep_ends.unwrap_or(false))
        }
        "removeprefix" => {
            let (prefix,): (&str,) = from_args(args)?;
            Value::from(text.strip_prefix(prefix).unwrap_or(text))
        }
        "removesuffix" => {
            let (suffix,): (&str,) = from_args(args)?;
            Value::from(text.strip_suffix(suffix).unwrap_or(text))
        }
        "index" => {
            let (what,): (&str,) = from_args(args)?;
            let position = text
                .find(what)
                .ok_or_else(|| Error::new(ErrorKind::InvalidOperation, "substring not found"))?;
            Value::from(text[..position].chars().count())
        }
        "isspace" => {
            let () = from_args(args)?;
            Value::from(!text.is_empty() && text.chars().all(is_python_space))
        }
        _ => return Ok(None),
    };
    Ok(Some(result))
}

fn is_python_space(character: char) -> bool {
    character.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&character)
}

fn strip<'a>(text: &'a str, chars: Option<&str>, from_left: bool, from_right: bool) -> &'a str {
    let is_stripped = |character: char| match chars {
        Some(chars) => chars.contains(character),
        None => is_python_space(character),
    };
    let text = if from_left { text.trim_start_matches(is_stripped) } else { text };
    if from_right {
        text.trim_end_matches(is_stripped)
    } else {
        text
    }
}

fn split_at_white_space(text: &str, max_splits: Option<i64>) -> Value {
    let mut num_left = max_splits.filter(|count| *count >= 0).unwrap_or(i64::MAX);
    let mut parts = Vec::new();
    let mut rest = text.trim_start_matches(is_python_space);
    while !rest.is_empty() {
        let end = rest.find(is_python_space).filter(|_| num_left > 0).unwrap_or(rest.len());
        parts.push(Value::from(&rest[..end]));
        rest = rest[end..].trim_start_matches(is_python_space);
        num_left -= 1;
    }
    // With the splits used up, the last part keeps the white space inside it but none at its end.
    Value::from(parts)
}

fn split_from_right(text: &str, separator: &str, max_splits: Option<i64>) -> Result<Value, Error> {
    if separator.is_empty() {
        return Err(Error::new(ErrorKind::InvalidOperation, "empty separator"));
    }
    let mut parts: Vec<Value> = match max_splits.and_then(|count| usize::try_from(count).ok()) {
        Some(count) => text.rsplitn(count.saturating_add(1), separator).map(Value::from).collect(),
        None => text.rsplit(separator).map(Value::from).collect(),
    };
    parts.reverse();
    Ok(Value::from(parts))
}

fn split_lines(text: &str, keep_ends: bool) -> Value {
    let is_line_break = |character: char| {
        matches!(character, '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}')
            || ('\u{1c}'..='\u{1e}').contains(&character)
    };
    let mut lines = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let content_end = rest.find(is_line_break).unwrap_or(rest.len());
        let after = &rest[content_end..];
        let break_size = match after.chars().next() {
            Some('\r') if after.starts_with("\r\n") => 2,
            Some(character) => character.len_utf8(),
            None => 0,
        };
        let end = if keep_ends { content_end + break_size } else { content_end };
        lines.push(Value::from(&rest[..end]));
        rest = &rest[content_end + break_size..];
    }
    Value::from(lines)
}
