//! JSON requests in, JSON answers out, without the code size of `serde_json`: the browser modules use it.

pub mod calls;
mod encode;
mod parse;
mod request;

pub use encode::{Encode, encode, object};
pub use parse::{Json, parse};
pub use request::Request;
