//! The browser as the islands use it: requests, focus, and the functions that remain in site/js. Nothing here works on the
//! server, where it is compiled because event handlers refer to it.

pub(crate) mod api;
#[cfg(any(feature = "ssr", feature = "island-playground"))]
pub(crate) mod client_only;
pub(crate) mod focus;
pub(crate) mod json;
pub(crate) mod location;
pub(crate) mod script;
pub(crate) mod share;
pub(crate) mod storage;
