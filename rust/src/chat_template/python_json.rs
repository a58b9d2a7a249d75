// SPDX-License-Identifier: Apache-2.0
//! Python's `json.dumps` for template values: its separators, its escapes (none for HTML), its
//! indentation and its floats. minijinja's own `tojson` is made for HTML and differs in all of them.
use std::fmt::Write;

use minijinja::value::{Kwargs, Value, ValueKind};
use minijinja::{Error, ErrorKind};

/// Deeper values can only be made by a template that nests them in a loop.
const MAX_DEPTH: usize = 200;
const MAX_INDENT: i64 = 100;

/// `tojson(ensure_ascii=False, indent=None, separators=None, sort_keys=False)` as `transformers`
/// defines it; `sort_keys` by name only.
pub fn tojson(
    value: &Value,
    ensure_ascii: Option<Value>,
    indent: Option<Value>,
    separators: Option<Value>,
    kwargs: Kwargs,
) -> Result<String, Error> {
    let argument = |positional: Option<Value>, name: &str| -> Result<Option<Value>, Error> {
        let argument = match positional {
            Some(argument) => Some(argument),
            None => kwargs.get(name)?,
        };
        Ok(argument.filter(|argument| !argument.is_none()))
    };
    let is_true = |argument: Option<Value>| argument.is_some_and(|argument| argument.is_true());
    let ensure_ascii = is_true(argument(ensure_ascii, "ensure_ascii")?);
    let indent = argument(indent, "indent")?.map(parse_indent).transpose()?;
    let separators = argument(separators, "separators")?;
    let sort_keys = is_true(argument(None, "sort_keys")?);
    kwargs.assert_all_used()?;
    let (item_separator, key_separator) = parse_separators(separators, indent.is_some())?;
    let output = String::new();
    let mut writer =
        Writer { output, ensure_ascii, sort_keys, indent, item_separator, key_separator };
    writer.write_value(value, 0)?;
    Ok(writer.output)
}

/// The text of one level of indentation.
fn parse_indent(indent: Value) -> Result<String, Error> {
    if let Some(text) = indent.as_str() {
        return Ok(text.to_string());
    }
    let width = i64::try_from(indent)?;
    Ok(" ".repeat(width.clamp(0, MAX_INDENT) as usize))
}

fn parse_separators(
    separators: Option<Value>,
    is_indented: bool,
) -> Result<(String, String), Error> {
    let Some(separators) = separators else {
        let item_separator = if is_indented { "," } else { ", " };
        return Ok((item_separator.to_string(), ": ".to_string()));
    };
    let texts: Vec<Value> = separators.try_iter()?.collect();
    match texts.iter().map(Value::as_str).collect::<Vec<_>>()[..] {
        [Some(item_separator), Some(key_separator)] => {
            Ok((item_separator.to_string(), key_separator.to_string()))
        }
        _ => Err(Error::new(ErrorKind::InvalidOperation, "tojson: separators must be two strings")),
    }
}

struct Writer {
    output: String,
    ensure_ascii: bool,
    sort_keys: bool,
    indent: Option<String>,
    item_separator: String,
    key_separator: String,
}

impl Writer {
    fn write_value(&mut self, value: &Value, depth: usize) -> Result<(), Error> {
        if depth > MAX_DEPTH {
            return Err(Error::new(ErrorKind::OutOfFuel, "tojson: the value is nested too deeply"));
        }
        match value.kind() {
            ValueKind::None => self.output.push_str("null"),
            ValueKind::Bool => self.output.push_str(if value.is_true() { "true" } else { "false" }),
            ValueKind::Number if value.is_integer() => {
                write!(self.output, "{value}").map_err(Error::from)?
            }
            ValueKind::Number => {
                let number = f64::try_from(value.clone())?;
                self.output.push_str(&json_float(number));
            }
            ValueKind::String => self.write_string(value.as_str().unwrap_or_default()),
            ValueKind::Seq | ValueKind::Iterable => self.write_list(value, depth)?,
            ValueKind::Map => self.write_map(value, depth)?,
            kind => {
                let message = format!("tojson: a value of kind '{kind}' has no JSON form");
                return Err(Error::new(ErrorKind::BadSerialization, message));
            }
        }
        Ok(())
    }

    fn write_list(&mut self, value: &Value, depth: usize) -> Result<(), Error> {
        self.output.push('[');
        let mut num_items = 0;
        for item in value.try_iter()? {
            self.begin_item(num_items, depth);
            self.write_value(&item, depth + 1)?;
            num_items += 1;
        }
        self.end_items(num_items, depth);
        self.output.push(']');
        Ok(())
    }

    fn write_map(&mut self, value: &Value, depth: usize) -> Result<(), Error> {
        let mut keys: Vec<Value> = value.try_iter()?.collect();
        if self.sort_keys {
            keys.sort();
        }
        self.output.push('{');
        for (idx, key) in keys.iter().enumerate() {
            self.begin_item(idx, depth);
            self.write_string(&key_text(key)?);
            self.output.push_str(&self.key_separator);
            self.write_value(&value.get_item(key)?, depth + 1)?;
        }
        self.end_items(keys.len(), depth);
        self.output.push('}');
        Ok(())
    }

    fn begin_item(&mut self, idx: usize, depth: usize) {
        if idx > 0 {
            self.output.push_str(&self.item_separator);
        }
        self.break_line(depth + 1);
    }

    fn end_items(&mut self, num_items: usize, depth: usize) {
        if num_items > 0 {
            self.break_line(depth);
        }
    }

    fn break_line(&mut self, depth: usize) {
        if let Some(indent) = &self.indent {
            self.output.push('\n');
            for _ in 0..depth {
                self.output.push_str(indent);
            }
        }
    }

    fn write_string(&mut self, text: &str) {
        self.output.push('"');
        for character in text.chars() {
            match character {
                '"' => self.output.push_str("\\\""),
                '\\' => self.output.push_str("\\\\"),
                '\n' => self.output.push_str("\\n"),
                '\r' => self.output.push_str("\\r"),
                '\t' => self.output.push_str("\\t"),
                '\u{8}' => self.output.push_str("\\b"),
                '\u{c}' => self.output.push_str("\\f"),
                control if (control as u32) < 0x20 => self.write_escape(control as u16),
                wide if self.ensure_ascii && !(' '..='~').contains(&wide) => {
                    for unit in wide.encode_utf16(&mut [0; 2]) {
                        self.write_escape(*unit);
                    }
                }
                plain => self.output.push(plain),
            }
        }
        self.output.push('"');
    }

    fn write_escape(&mut self, unit: u16) {
        // Writing into a String can't fail.
        let _ = write!(self.output, "\\u{unit:04x}");
    }
}

/// Keys that Python turns into strings: None, booleans and numbers.
fn key_text(key: &Value) -> Result<String, Error> {
    match key.kind() {
        ValueKind::String => Ok(key.as_str().unwrap_or_default().to_string()),
        ValueKind::None => Ok("null".to_string()),
        ValueKind::Bool => Ok(if key.is_true() { "true" } else { "false" }.to_string()),
        ValueKind::Number if key.is_integer() => Ok(key.to_string()),
        ValueKind::Number => Ok(json_float(f64::try_from(key.clone())?)),
        kind => Err(Error::new(
            ErrorKind::BadSerialization,
            format!("tojson: a key of kind '{kind}' has no JSON form"),
        )),
    }
}

fn json_float(number: f64) -> String {
    if number.is_nan() {
        "NaN".to_string()
    } else if number.is_infinite() {
        if number > 0.0 { "Infinity" } else { "-Infinity" }.to_string()
    } else {
        float_repr(number)
    }
}

/// Python's `repr(float)`: the shortest digits that round-trip, in scientific form when the exponent
/// is below -4 or above 15.
pub fn float_repr(number: f64) -> String {
    if number.is_nan() {
        return "nan".to_string();
    }
    if number.is_infinite() {
        return if number > 0.0 { "inf" } else { "-inf" }.to_string();
    }
    // Rust's {:e} has the shortest digits too: "-1.5e-7".
    let scientific = format!("{number:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if !(-4..16).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{digits}e{sign}{:02}", exponent.abs());
    }
    let plain = number.to_string();
    if plain.contains('.') {
        plain
    } else {
        plain + ".0"
    }
}
