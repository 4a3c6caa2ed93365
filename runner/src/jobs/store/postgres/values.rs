//! Converts values between the store and PostgreSQL.

use crate::jobs::store::{
    error::{Result, StoreError},
    sql::{Row, Value},
};
use std::error::Error;
use tokio_postgres::types::{IsNull, ToSql, Type, private::BytesMut, to_sql_checked};

/// The values of a row.
pub(super) fn row(row: &tokio_postgres::Row) -> Result<Row> {
    let values = row.columns().iter().enumerate().map(|(index, column)| {
        let value = match *column.type_() {
            Type::INT8 => row.try_get::<_, Option<i64>>(index)?.into(),
            Type::INT4 => row.try_get::<_, Option<i32>>(index)?.map(i64::from).into(),
            Type::BOOL => row.try_get::<_, Option<bool>>(index)?.into(),
            Type::FLOAT8 => row.try_get::<_, Option<f64>>(index)?.into(),
            Type::TEXT | Type::VARCHAR => row.try_get::<_, Option<String>>(index)?.into(),
            Type::VOID => Value::Null,
            _ => return Err(StoreError::UnexpectedValue),
        };
        Ok(value)
    });
    Ok(Row(values.collect::<Result<_>>()?))
}

impl ToSql for Value {
    fn to_sql(
        &self,
        ty: &Type,
        out: &mut BytesMut,
    ) -> std::result::Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self {
            Value::Null => Ok(IsNull::Yes),
            Value::Integer(number) => match *ty {
                Type::BOOL => (*number != 0).to_sql(ty, out),
                Type::INT4 => i32::try_from(*number)?.to_sql(ty, out),
                Type::FLOAT8 => (*number as f64).to_sql(ty, out),
                _ => number.to_sql(ty, out),
            },
            Value::Real(number) => number.to_sql(ty, out),
            // PostgreSQL has no null characters. No id has one, and no Python source may have one.
            Value::Text(text) if text.contains('\0') => {
                text.replace('\0', "\u{fffd}").to_sql(ty, out)
            }
            Value::Text(text) => text.to_sql(ty, out),
        }
    }

    fn accepts(ty: &Type) -> bool {
        [
            Type::BOOL,
            Type::INT4,
            Type::INT8,
            Type::FLOAT8,
            Type::TEXT,
            Type::VARCHAR,
        ]
        .contains(ty)
    }

    to_sql_checked!();
}
