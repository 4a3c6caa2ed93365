//! The pages of the sign-in: `/sign-in`, the address to which the provider sends the browser back, and `/sign-out`.

use super::{
    App,
    access_control::{SIGN_IN, cookies, has_own_origin},
    identity::Identity,
    problem::{ApiError, plain_page},
};
use crate::{
    jobs::Role,
    oidc::{Callback, SESSION_TIME, SignInError, User},
};
use axum::{
    Json, Router,
    extract::{Query, State},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{Html, IntoResponse, Redirect, Response},
    routing::get,
};
use serde::{Deserialize, Serialize};

const CALLBACK: &str = "/sign-in/callback";
const USER: &str = "/sign-in/user";
const SIGN_OUT: &str = "/sign-out";
/// The cookie of a sign-in that has begun.
const ATTEMPT: &str = "sign-in";
/// The cookie of a user who is signed in.
const SESSION: &str = "session";

/// The routes of a server with an identity provider. They are for browsers, so they are not in the OpenAPI document.
pub(super) fn routes() -> Router<App> {
    Router::new()
        .route(SIGN_IN, get(begin))
        .route(CALLBACK, get(finish))
        .route(USER, get(user))
        .route(SIGN_OUT, get(ask_sign_out).post(sign_out))
}

#[derive(Deserialize)]
struct Begin {
    /// The path to show afterwards.
    #[serde(rename = "return", default)]
    back: String,
}

/// `GET /sign-in?return=…`: sends the browser to the provider.
async fn begin(State(app): State<App>, headers: HeaderMap, Query(query): Query<Begin>) -> Response {
    let Some(oidc) = app.access.oidc() else {
        return super::page::not_found(&app);
    };
    let origin = app.access.origin();
    let host = headers
        .get(header::HOST)
        .and_then(|host| host.to_str().ok());
    // The provider sends the browser back to the origin, so the cookie must be set there.
    let own_host = origin.split_once("://").map(|(_, host)| host);
    if host != own_host {
        let origin = html_escape::encode_double_quoted_attribute(&origin);
        let link =
            format!("<p>Sign in at <a href=\"{origin}{SIGN_IN}\">{origin}{SIGN_IN}</a>.</p>");
        return page("This is not the address for signing in", &link, "");
    }
    match oidc.begin(format!("{origin}{CALLBACK}"), &query.back).await {
        Ok((url, cookie)) => {
            let mut response = Redirect::to(&url).into_response();
            set_cookie(&app, &mut response, ATTEMPT, &cookie, 600);
            no_store(response)
        }
        Err(error) => failed(error.into()),
    }
}

/// The provider's answer. A page leads on, not a redirect: browsers would state that the provider has caused the next request,
/// which then could not use the cookie.
async fn finish(
    State(app): State<App>,
    headers: HeaderMap,
    Query(callback): Query<Callback>,
) -> Response {
    let Some(oidc) = app.access.oidc() else {
        return super::page::not_found(&app);
    };
    let cookie = cookies(&headers, &app.access.sign_in_cookie(ATTEMPT)).pop();
    let redirect = format!("{}{CALLBACK}", app.access.origin());
    let mut response = match oidc.finish(redirect, callback, cookie).await {
        Ok((user, session, back)) => {
            let back = html_escape::encode_double_quoted_attribute(&back);
            let name = html_escape::encode_text(&user.name);
            let text = format!(
                "<p>You are {name}, with the role <code>{}</code>. <a href=\"{back}\">Continue</a></p>",
                user.role.name()
            );
            let forward = format!("<meta http-equiv=\"refresh\" content=\"0; url={back}\">");
            let mut response = page("Signed in", &text, &forward);
            let age = SESSION_TIME.as_secs();
            set_cookie(&app, &mut response, SESSION, &session, age);
            response
        }
        Err(error) => failed(error.into()),
    };
    set_cookie(&app, &mut response, ATTEMPT, "", 0);
    response
}

/// Who a reader is, for the header of the pages.
#[derive(Serialize)]
struct Reader {
    /// The name of the user or of the token.
    #[serde(skip_serializing_if = "Option::is_none")]
    user: Option<String>,
    by: By,
}

/// How the server knows a reader.
#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum By {
    /// The reader is signed in.
    Session,
    /// The browser has a token, or a proxy names the user.
    Token,
    /// The server does not know the reader.
    Nothing,
}

/// `GET /sign-in/user`
async fn user(State(app): State<App>, headers: HeaderMap) -> Response {
    let reader = match app.access.authorize_reader(&headers, Role::Read).await {
        Ok(identity) => {
            let session = app.access.session(&headers).map(Identity::from);
            let is_signed_in = session.is_some_and(|session| session == identity);
            Reader {
                user: identity.name,
                by: if is_signed_in { By::Session } else { By::Token },
            }
        }
        Err(_) => Reader {
            user: None,
            by: By::Nothing,
        },
    };
    no_store(Json(reader).into_response())
}

/// `GET /sign-out`: a page with a button, because other sites can link to this address.
async fn ask_sign_out(State(app): State<App>, headers: HeaderMap) -> Response {
    match app.access.session(&headers) {
        Some(user) => {
            let name = html_escape::encode_text(&user.name);
            let form = format!(
                "<p>You are {name}, with the role <code>{}</code>.</p>\
                 <form method=\"post\" action=\"{SIGN_OUT}\"><button>Sign out</button></form>",
                user.role.name()
            );
            page("Sign out", &form, "")
        }
        None => page(
            "You are not signed in",
            &format!("<p><a href=\"{SIGN_IN}\">Sign in</a></p>"),
            "",
        ),
    }
}

/// `POST /sign-out`: forgets the session, and the token if the browser has one.
async fn sign_out(State(app): State<App>, headers: HeaderMap) -> Response {
    if !has_own_origin(&headers) {
        return failed(ApiError::new(
            StatusCode::FORBIDDEN,
            "foreign-origin",
            "Foreign origin",
            "The request does not come from a page of this server.",
            format!("Open {SIGN_OUT} on this server."),
        ));
    }
    let text = format!(
        "<p>You may still be signed in at the identity provider. <a href=\"{SIGN_IN}\">Sign in again</a></p>"
    );
    let mut response = page("Signed out", &text, "");
    set_cookie(&app, &mut response, SESSION, "", 0);
    let token = format!(
        "{}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0",
        app.access.cookie_name()
    );
    if let Ok(token) = HeaderValue::try_from(token) {
        response.headers_mut().append(header::SET_COOKIE, token);
    }
    response
}

/// Adds a cookie. SameSite=Lax, because the provider's page sends the browser here.
fn set_cookie(app: &App, response: &mut Response, purpose: &str, value: &str, max_age: u64) {
    let name = app.access.sign_in_cookie(purpose);
    let secure = match app.access.origin().starts_with("https://") {
        true => "; Secure",
        false => "",
    };
    let cookie =
        format!("{name}={value}; Path=/; HttpOnly; SameSite=Lax; Max-Age={max_age}{secure}");
    if let Ok(cookie) = HeaderValue::try_from(cookie) {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
}

fn failed(error: ApiError) -> Response {
    no_store(error.into_page())
}

fn page(title: &str, body: &str, head: &str) -> Response {
    no_store(Html(plain_page(title, head, body)).into_response())
}

fn no_store(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(
        header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static("default-src 'none'; form-action 'self'; frame-ancestors 'none'"),
    );
    response
}

impl From<User> for Identity {
    fn from(user: User) -> Self {
        Identity {
            name: Some(user.name),
            role: user.role,
        }
    }
}

impl From<SignInError> for ApiError {
    fn from(error: SignInError) -> Self {
        let text = error.to_string();
        let unauthorized = StatusCode::UNAUTHORIZED;
        let (status, code, title, help) = match error {
            SignInError::Unreachable(_) => (
                StatusCode::SERVICE_UNAVAILABLE,
                "provider-unreachable",
                "The identity provider cannot be used",
                "Try again later. If it does not pass, ask the operator of this server, who finds the reason above in its log.",
            ),
            SignInError::Refused(_) => (
                StatusCode::FORBIDDEN,
                "sign-in-refused",
                "The sign-in was refused",
                "Sign in again, or ask the operator of the identity provider.",
            ),
            SignInError::Token(_) => (
                unauthorized,
                "provider-token-invalid",
                "The token of the identity provider is not valid",
                "Sign in again, or get a new token for this server from the provider.",
            ),
            SignInError::Stale => (
                StatusCode::BAD_REQUEST,
                "sign-in-stale",
                "The sign-in was interrupted",
                "Sign in again in the same browser, with cookies permitted.",
            ),
            SignInError::NoRole { .. } => (
                StatusCode::FORBIDDEN,
                "no-role",
                "You have no role on this server",
                "Ask the operator of this server, who gives roles to groups with --oidc-role.",
            ),
            SignInError::Internal(_) => {
                tracing::error!("{text}");
                return ApiError::new(
                    StatusCode::INTERNAL_SERVER_ERROR,
                    "internal",
                    "The sign-in has failed",
                    "The sign-in has failed because of an error of the server.",
                    "The operator of this server finds the reason in its log.",
                );
            }
        };
        if status == StatusCode::SERVICE_UNAVAILABLE {
            tracing::warn!("{text}");
        }
        ApiError::new(status, code, title, text, help)
    }
}
