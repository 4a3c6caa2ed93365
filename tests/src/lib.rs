//! Helpers for the tests beside.
