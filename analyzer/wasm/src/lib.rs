//! The analyzer in the browser.
