//! One row per key: the macro [`section!`] makes a section's struct, its documentation, its reader and its differences.
//!
//! ```text
//! section! {
//!     /// The text of the section in docs/config.md.
//!     pub struct Mrt = "[mrt]" {
//!         /// The text of the key in docs/config.md, and of the field in the API.
//!         "compress": "`\"gzip\"`, `\"none\"`", default "`\"gzip\"`", reload AtOnce
//!             => gzip: bool = true, read |i| i.word(&[("gzip", true), ("none", false)]);
//!     }
//! }
//! ```
//!
//! A row begins with the key, the form of its value, its default as the manual shows it, and the effect of a reload. Then
//! comes the field with its type, default and reader. There are five ways to read a key:
//!
//! | word | the reader |
//! | --- | --- |
//! | `read F` | `F(&Item) -> Option<Type>`; an invalid value keeps the default |
//! | `require EXAMPLE F` | the same for a key without a default; `EXAMPLE` is for the error |
//! | `edit F` | `F(&Item, &mut Type)` changes a part of the field |
//! | `table EXAMPLE` | the type is a `section!` of its own |
//! | none | the section reads the key itself, because it depends on other keys |
//!
//! `, or` adds another key that sets the same field. `, live |old, new| …` after the reader names the changes of a value
//! for which a session goes on, though others reset it.

use crate::toml_values::Section;

/// A key as the manual shows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Key {
    /// The name of the key.
    pub name: &'static str,
    /// The form of the value.
    pub form: &'static str,
    /// The default, as the manual shows it.
    pub default: &'static str,
    text: &'static str,
    /// The effect of a reload if the key has changed.
    pub reload: Reload,
}

impl Key {
    /// Creates a key that is not a row of [`section!`].
    pub(crate) const fn new(
        name: &'static str,
        form: &'static str,
        default: &'static str,
        text: &'static str,
        reload: Reload,
    ) -> Self {
        Key {
            name,
            form,
            default,
            text,
            reload,
        }
    }

    /// Returns the description.
    pub fn text(&self) -> &'static str {
        self.text.trim_start()
    }
}

/// The effect of a reload on a key that has changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reload {
    /// The new value is in force at once. Routes are not evaluated again.
    AtOnce,
    /// At once, and Rutter evaluates the routes concerned again.
    Reevaluates,
    /// At once, and Rutter advertises to the neighbor the routes that it receives now and did not before, or in another
    /// form.
    Readvertises,
    /// The session is reset: both sides agreed on the value in their OPENs.
    ResetsSession,
    /// The session is reset: the value belongs to the TCP connection.
    Reconnects,
    /// On the next start.
    NextStart,
    /// On the next start of `rutter collect`; other commands ignore the section.
    NextCollect,
}

impl Reload {
    /// The reason why a session is reset; `None`: it is not.
    pub fn reset_reason(self) -> Option<&'static str> {
        match self {
            Reload::ResetsSession => Some("the neighbors agree on it in their OPENs"),
            Reload::Reconnects => Some("it belongs to the TCP connection"),
            Reload::AtOnce
            | Reload::Reevaluates
            | Reload::Readvertises
            | Reload::NextStart
            | Reload::NextCollect => None,
        }
    }
}

/// A key whose values differ between two configurations.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct DifferentKey {
    /// The name, with the names of the tables around it: `add-path.send`.
    pub(crate) name: String,
    pub(crate) reload: Reload,
}

/// A section, or the table of a key, whose keys are rows of [`section!`].
pub(crate) trait KeyRows: Sized {
    /// `[mrt]`
    const HEADER: &'static str;
    const TEXT: &'static str;
    const KEYS: &'static [Key];

    /// Reads a section. `None`: a required key is missing or invalid.
    fn read(section: &Section<'_>) -> Option<Self>;

    /// Reads the keys that the section has; other fields keep their values. Required keys are not read.
    fn update(&mut self, section: &Section<'_>);

    /// Returns the keys with different values, in the order of the manual.
    fn differences(&self, other: &Self) -> Vec<DifferentKey>;
}

macro_rules! section {
    (
        $(#[doc = $about:literal])+
        $(#[derive($Derived:ident)])?
        pub struct $Section:ident = $header:literal {$(
            $(#[doc = $text:literal])+
            $key:literal: $form:literal, default $written:literal, reload $reload:ident
                => $field:ident: $type:ty $(= $default:expr)?
                $(, require $example:literal $require:expr)?
                $(, read $read:expr)?
                $(, edit $edit:expr)?
                $(, table $table:literal)?
                $(, live $live:expr)?
                $(, or
                    $(#[doc = $or_text:literal])+
                    $or_key:literal: $or_form:literal, default $or_written:literal
                    $(, read $or_read:expr)?
                )*
            ;
        )*}
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, PartialEq, Eq, Debug $(, $Derived)?)]
        pub struct $Section {$(
            $(#[doc = $text])+
            pub $field: $type,
        )*}

        impl $Section {
            /// Returns the defaults. The arguments are the keys without a default.
            #[allow(clippy::new_without_default, reason = "a section with required keys has no default")]
            pub fn new($($($field: $crate::key_rows::first!($type, $example),)?)*) -> Self {
                $Section {$(
                    $field: $($default)? $($crate::key_rows::first!($field, $example))?,
                )*}
            }
        }

        #[allow(unused_variables, reason = "a section may have no key of some kind")]
        impl $crate::key_rows::KeyRows for $Section {
            const HEADER: &'static str = $header;
            const TEXT: &'static str = concat!($($about),+);
            const KEYS: &'static [$crate::key_rows::Key] = {
                use $crate::key_rows::{Key, Reload};
                &[$(
                    Key::new($key, $form, $written, concat!($($text),+), Reload::$reload),
                    $(Key::new($or_key, $or_form, $or_written, concat!($($or_text),+), Reload::$reload),)*
                )*]
            };

            fn read(section: &$crate::toml_values::Section<'_>) -> Option<Self> {
                let mut read = $Section::new($($(
                    section.require($key, $example).and_then(|item| ($require)(&item))?,
                )?)*);
                read.update(section);
                Some(read)
            }

            fn update(&mut self, section: &$crate::toml_values::Section<'_>) {$(
                $(section.set($key, &mut self.$field, $read);)?
                $(section.edit($key, |item| ($edit)(item, &mut self.$field));)?
                $(section.edit($key, |item| {
                    item.section(<$type>::KEYS, $table, |table| self.$field.update(&table));
                });)?
                $($(section.set($or_key, &mut self.$field, $or_read);)?)*
            )*}

            fn differences(&self, other: &Self) -> Vec<$crate::key_rows::DifferentKey> {
                use $crate::key_rows::{DifferentKey, Reload};
                let mut found: Vec<DifferentKey> = Vec::new();
                $(if self.$field != other.$field {
                    #[allow(unused_mut, reason = "most keys have the same effect for all changes")]
                    let mut whole = DifferentKey { name: $key.to_owned(), reload: Reload::$reload };
                    $(
                        let is_live: fn(&$type, &$type) -> bool = $live;
                        if is_live(&self.$field, &other.$field) {
                            whole.reload = Reload::AtOnce;
                        }
                    )?
                    #[allow(unused_mut, unused_assignments, reason = "only a table has other differences")]
                    let mut different = vec![whole];
                    $(different = $crate::key_rows::first!(self.$field.differences(&other.$field), $table)
                        .into_iter()
                        .map(|inner| DifferentKey { name: format!("{}.{}", $key, inner.name), ..inner })
                        .collect();)?
                    found.append(&mut different);
                })*
                found
            }
        }
    };
}

/// Returns the first argument. The second selects the optional part of a row that it comes from.
macro_rules! first {
    ($first:expr, $part:literal) => {
        $first
    };
    ($first:ty, $part:literal) => {
        $first
    };
}

pub(crate) use {first, section};
