//! `GET /api/v1/jobs/{id}/badge.svg`: the result of a job as a small picture for a README or a pull request.

use super::{
    App,
    job_id::JobId,
    problem::{ApiError, ApiResult},
};
use axum::{
    extract::State,
    http::header,
    response::{IntoResponse, Response},
};
use hipward_protocol::{JobState, JobView, Outcome, Verdict};
use html_escape::encode_double_quoted_attribute as escaped;

/// Width of a character of the badge's font on average, pixels.
const CHARACTER: f64 = 6.6;
/// Space beside each text, pixels.
const SPACE: f64 = 6.0;
/// Maximum length of the result, characters.
const MAX_CHARACTERS: usize = 48;

/// The result of a job as a badge.
///
/// The badge of a job that has ended may be cached for an hour, because the job can still be deleted.
#[utoipa::path(
    get,
    path = "/api/v1/jobs/{id}/badge.svg",
    params(JobId),
    responses(ApiError, (status = 200, description = "An SVG picture.", content_type = "image/svg+xml", body = String))
)]
pub(crate) async fn badge(State(app): State<App>, JobId(id): JobId) -> ApiResult<Response> {
    let run = app.store.with(move |store| store.run(&id)).await?;
    let view = run.ok_or_else(ApiError::job_not_found)?.view;
    let caching = match view.state.is_final() {
        true => "public, max-age=3600",
        false => "no-cache",
    };
    let (text, colour) = result(&view);
    let headers = [
        (header::CONTENT_TYPE, "image/svg+xml"),
        (header::CACHE_CONTROL, caching),
        // The picture itself is shown by other sites; opened as a page it runs and loads nothing.
        (
            header::CONTENT_SECURITY_POLICY,
            "default-src 'none'; style-src 'unsafe-inline'; sandbox",
        ),
    ];
    Ok((headers, svg("hipward", &text, colour)).into_response())
}

const GREEN: &str = "#1a7f37";
const RED: &str = "#b42318";
const GREY: &str = "#57606a";
const BLUE: &str = "#0969da";

/// The result in a few words, and the colour of its background.
fn result(view: &JobView) -> (String, &'static str) {
    let verdict = match view.state {
        JobState::AwaitingApproval => return ("awaiting approval".to_owned(), GREY),
        JobState::Queued => return ("waiting".to_owned(), GREY),
        JobState::Running => return ("running".to_owned(), BLUE),
        JobState::Failed => return ("failed".to_owned(), RED),
        JobState::Cancelled => return ("cancelled".to_owned(), GREY),
        JobState::Done => view.verdict.as_ref(),
    };
    let Some(verdict) = verdict else {
        return ("nothing compared".to_owned(), GREY);
    };
    if outcome(verdict, Outcome::Impossible) {
        return ("impossible time".to_owned(), RED);
    }
    let best = verdict.best.as_ref();
    if let Some(best) = best.and_then(|best| view.comparison(best)) {
        let label = view.label(&best.variant);
        return (format!("{label} {:.2}× faster", best.speedup), GREEN);
    }
    if outcome(verdict, Outcome::Same) {
        return ("no difference".to_owned(), GREY);
    }
    if outcome(verdict, Outcome::Ambiguous) {
        return ("ambiguous".to_owned(), GREY);
    }
    match outcome(verdict, Outcome::Slower) {
        true => ("slower".to_owned(), RED),
        false => ("measured".to_owned(), GREY),
    }
}

fn outcome(verdict: &Verdict, outcome: Outcome) -> bool {
    let mut comparisons = verdict.comparisons.iter();
    comparisons.any(|comparison| comparison.outcome == outcome)
}

/// Two texts side by side.
fn svg(name: &str, text: &str, colour: &str) -> String {
    let plain = |c: &char| !c.is_control();
    let text: String = text.chars().filter(plain).take(MAX_CHARACTERS).collect();
    let width = |text: &str| (text.chars().count() as f64 * CHARACTER + 2.0 * SPACE).ceil();
    let (left, right) = (width(name), width(&text));
    let whole = left + right;
    let (name_at, text_at) = (left / 2.0, left + right / 2.0);
    let [name, text] = [name, &text].map(escaped);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{whole}\" height=\"20\" role=\"img\" aria-label=\"{name}: {text}\">\
         <title>{name}: {text}</title>\
         <rect width=\"{left}\" height=\"20\" fill=\"#24292f\"/>\
         <rect x=\"{left}\" width=\"{right}\" height=\"20\" fill=\"{colour}\"/>\
         <g fill=\"#fff\" text-anchor=\"middle\" font-family=\"Verdana,DejaVu Sans,sans-serif\" font-size=\"11\">\
         <text x=\"{name_at}\" y=\"14\">{name}</text><text x=\"{text_at}\" y=\"14\">{text}</text></g></svg>\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_escaped_and_shortened() {
        let hostile = format!("<script>\"&'\u{1b}{}", "x".repeat(100));
        let badge = svg("hipward", &hostile, GREY);
        assert!(!badge.contains("<script"), "{badge}");
        assert!(!badge.contains('\u{1b}'), "{badge}");
        assert!(badge.contains("&lt;script&gt;&quot;&amp;"), "{badge}");
        assert!(!badge.contains(&"x".repeat(MAX_CHARACTERS)), "{badge}");
    }
}
