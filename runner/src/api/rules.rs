//! `GET /api/v1/rules`: the team's own rules, which the playground passes to the analyzer; and the JSON Schema of
//! the analyzer's reports.

use super::App;
use axum::{
    extract::State,
    http::header,
    response::{IntoResponse, Response},
};
use hipward_analyzer::output::REPORT_SCHEMA;
use serde::Deserialize;
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// The answer: the rules as `hipward check --rules` reads them from TOML.
#[derive(Deserialize, ToSchema)]
#[allow(dead_code, reason = "describes JSON that is passed on")]
struct TeamRules {
    /// The rules.
    rules: Vec<TeamRule>,
}

/// A rule of the team that runs this server.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "describes JSON that is passed on")]
struct TeamRule {
    /// Three or more capital letters and digits.
    #[schema(pattern = "^[A-Z][A-Z0-9]{2,}$")]
    id: String,
    /// The name in `allow` comments.
    #[schema(pattern = "^[a-z0-9][a-z0-9-]*$")]
    name: String,
    /// One sentence.
    message: String,
    /// Default: `warning`.
    severity: Option<TeamSeverity>,
    /// Where the team explains the rule.
    #[schema(format = "uri")]
    link: Option<String>,
    /// The targets that the rule applies to.
    when: Option<TeamTargets>,
    /// The code that the rule finds. At least one condition.
    #[serde(rename = "match")]
    matches: TeamMatch,
    /// How the code is fixed.
    fix: Option<TeamFix>,
}

/// Severity of a rule's findings.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum TeamSeverity {
    Error,
    Warning,
    Advice,
    Info,
}

/// The targets that a rule applies to.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "describes JSON that is passed on")]
struct TeamTargets {
    /// `gfx942`.
    arch: Option<OneOrMore>,
    /// Version comparisons, such as `>=7,<8`.
    rocm: Option<String>,
    /// Version comparisons.
    torch: Option<String>,
    /// Version comparisons.
    python: Option<String>,
}

/// The code that a rule finds.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "describes JSON that is passed on")]
struct TeamMatch {
    /// Python: an imported module or name.
    import: Option<OneOrMore>,
    /// Python: a qualified name in use.
    #[serde(rename = "use")]
    uses: Option<OneOrMore>,
    /// Python: a called function.
    call: Option<OneOrMore>,
    /// Python: code with metavariables.
    pattern: Option<OneOrMore>,
    /// CUDA C++: a function, type or macro.
    cuda: Option<OneOrMore>,
    /// CUDA C++: a header, or with a final `/` a folder of headers.
    include: Option<OneOrMore>,
    /// Requirements: a package.
    package: Option<OneOrMore>,
    /// Containers: an image.
    image: Option<OneOrMore>,
    /// Containers and scripts: an environment variable.
    variable: Option<OneOrMore>,
    /// Keywords or positions of `call` with their constants.
    arguments: Option<BTreeMap<String, Constant>>,
}

/// How the code is fixed.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "describes JSON that is passed on")]
struct TeamFix {
    /// Imperative.
    title: String,
    /// Python with the metavariables of the pattern, or outside of Python another name.
    replace: Option<String>,
    /// Default: `unsafe`.
    applicability: Option<TeamApplicability>,
    /// A module that the replacement needs.
    import: Option<String>,
}

/// Whether a fix may change behaviour.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
enum TeamApplicability {
    Safe,
    Unsafe,
    DisplayOnly,
}

/// One string, or a list of alternatives.
#[derive(Deserialize, ToSchema)]
#[serde(untagged)]
#[allow(dead_code, reason = "describes JSON that is passed on")]
enum OneOrMore {
    One(String),
    More(Vec<String>),
}

/// A constant argument.
#[derive(Deserialize, ToSchema)]
#[serde(untagged)]
#[allow(dead_code, reason = "describes JSON that is passed on")]
enum Constant {
    Boolean(bool),
    Integer(i64),
    Text(String),
}

/// The team's own analyzer rules.
///
/// The list is empty where the server was started without `--rules`.
#[utoipa::path(
    get,
    path = "/api/v1/rules",
    responses((status = 200, description = "The rules, in the order in which they are checked.", body = TeamRules))
)]
pub(crate) async fn list(State(app): State<App>) -> Response {
    let kind = "application/json";
    (
        [(header::CONTENT_TYPE, kind)],
        app.pages.current().team_rules(),
    )
        .into_response()
}

/// `GET /schema/report.json`
pub(crate) async fn schema() -> Response {
    let kind = "application/schema+json";
    ([(header::CONTENT_TYPE, kind)], REPORT_SCHEMA).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn schema_accepts_a_rule_with_every_key() {
        let rule = json!({
            "id": "ACME001", "name": "acme-copy", "message": "Use the new copy.", "severity": "warning",
            "link": "https://acme.example/copy", "when": {"arch": ["gfx942"], "rocm": ">=7"},
            "match": {"call": "acme.copy", "arguments": {"0": true, "mode": "fast"}},
            "fix": {"title": "Replace it", "replace": "copy_new", "applicability": "display-only"},
        });
        let team_rules = TeamRules::deserialize(json!({"rules": [rule.clone()]}));
        assert_eq!(team_rules.expect("a rule").rules.len(), 1);
        // The analyzer accepts the same keys.
        let parsed = hipward_analyzer::TeamRules::parse(&json!([rule]).to_string());
        assert!(parsed.is_ok(), "{:?}", parsed.err());
    }
}
