//! HW4: Python versions.

pub mod datetime_utc;
pub mod newer_python;
pub mod tomllib;

rules! {
    datetime_utc,
    tomllib,
    newer_python,
}
