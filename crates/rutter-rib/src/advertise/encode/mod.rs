//! From routes to UPDATE messages, in the style that the clients of a group share.

mod message_writer;
mod rewriter;
mod style;

pub(crate) use message_writer::{MessageWriter, Nlri};
pub(crate) use rewriter::{RewriteRules, Sender, write_post_policy};
pub(crate) use style::Style;
