//! The job id in a request's path. An id that cannot exist is answered like one that does not exist.

use super::problem::ApiError;
use axum::{
    extract::{FromRequestParts, Path},
    http::request::Parts,
};
use utoipa::{
    IntoParams,
    openapi::{
        Required,
        path::{Parameter, ParameterBuilder, ParameterIn},
        schema::{ObjectBuilder, Type},
    },
};

/// The `{id}` of a path.
pub(crate) struct JobId(pub(crate) String);

impl<S: Send + Sync> FromRequestParts<S> for JobId {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        match Path::<String>::from_request_parts(parts, state).await {
            Ok(Path(id)) => Ok(JobId(id)),
            Err(_) => Err(ApiError::job_not_found()),
        }
    }
}

impl IntoParams for JobId {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let schema = ObjectBuilder::new()
            .schema_type(Type::String)
            .pattern(Some("^[a-z2-7]{26}$"));
        let parameter = ParameterBuilder::new()
            .name("id")
            .parameter_in(ParameterIn::Path)
            .required(Required::True)
            .description(Some("The job's id."))
            .schema(Some(schema));
        vec![parameter.build()]
    }
}
