//! The grammar's node kinds and fields, as two small enums.
//!
//! Only the kinds that the semantic layer or a rule uses are listed; all others are [`Kind::Other`].
//! This file does not read trees.

use std::sync::OnceLock;

use tree_sitter::Language;

macro_rules! kinds {
    (named { $($named:ident = $named_text:literal,)* } tokens { $($token:ident = $token_text:literal,)* }) => {
        /// The kind of a node.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum Kind {
            /// A token that no rule uses; never stored.
            Skipped,
            /// A named node that no rule uses.
            Other,
            /// Text that the parser could not parse.
            Error,
            $($named,)*
            $($token,)*
        }

        /// The number of kinds.
        pub const KIND_COUNT: usize =
            3 + [$($named_text,)* $($token_text,)*].len();

        /// The grammar's names. A table with a loop takes a tenth of the code size of a `match` on as many texts.
        const LISTED: &[(&str, bool, Kind)] = &[
            $(($named_text, true, Kind::$named),)*
            $(($token_text, false, Kind::$token),)*
            // A string's quotes are already in its text.
            ("string_start", true, Kind::Skipped),
            ("string_end", true, Kind::Skipped),
        ];
    };
}

kinds! {
    named {
        Module = "module",
        Block = "block",
        ExpressionStatement = "expression_statement",
        ImportStatement = "import_statement",
        ImportFromStatement = "import_from_statement",
        FutureImportStatement = "future_import_statement",
        AliasedImport = "aliased_import",
        DottedName = "dotted_name",
        RelativeImport = "relative_import",
        WildcardImport = "wildcard_import",
        Assignment = "assignment",
        AugmentedAssignment = "augmented_assignment",
        NamedExpression = "named_expression",
        PatternList = "pattern_list",
        TuplePattern = "tuple_pattern",
        ListPattern = "list_pattern",
        ListSplatPattern = "list_splat_pattern",
        DictionarySplatPattern = "dictionary_splat_pattern",
        ExpressionList = "expression_list",
        IfStatement = "if_statement",
        ElifClause = "elif_clause",
        ElseClause = "else_clause",
        WhileStatement = "while_statement",
        ForStatement = "for_statement",
        ForInClause = "for_in_clause",
        IfClause = "if_clause",
        ListComprehension = "list_comprehension",
        SetComprehension = "set_comprehension",
        DictionaryComprehension = "dictionary_comprehension",
        GeneratorExpression = "generator_expression",
        WithStatement = "with_statement",
        AsPattern = "as_pattern",
        AsPatternTarget = "as_pattern_target",
        TryStatement = "try_statement",
        ExceptClause = "except_clause",
        FinallyClause = "finally_clause",
        MatchStatement = "match_statement",
        CasePattern = "case_pattern",
        FunctionDefinition = "function_definition",
        ClassDefinition = "class_definition",
        DecoratedDefinition = "decorated_definition",
        Decorator = "decorator",
        Lambda = "lambda",
        Parameters = "parameters",
        LambdaParameters = "lambda_parameters",
        DefaultParameter = "default_parameter",
        TypedParameter = "typed_parameter",
        TypedDefaultParameter = "typed_default_parameter",
        GlobalStatement = "global_statement",
        NonlocalStatement = "nonlocal_statement",
        DeleteStatement = "delete_statement",
        ReturnStatement = "return_statement",
        RaiseStatement = "raise_statement",
        ContinueStatement = "continue_statement",
        BreakStatement = "break_statement",
        AssertStatement = "assert_statement",
        PassStatement = "pass_statement",
        Call = "call",
        ArgumentList = "argument_list",
        KeywordArgument = "keyword_argument",
        ListSplat = "list_splat",
        DictionarySplat = "dictionary_splat",
        Attribute = "attribute",
        Subscript = "subscript",
        Slice = "slice",
        Identifier = "identifier",
        String = "string",
        StringContent = "string_content",
        EscapeSequence = "escape_sequence",
        Interpolation = "interpolation",
        ConcatenatedString = "concatenated_string",
        Integer = "integer",
        Float = "float",
        True = "true",
        False = "false",
        None = "none",
        Tuple = "tuple",
        List = "list",
        Set = "set",
        Dictionary = "dictionary",
        Pair = "pair",
        ComparisonOperator = "comparison_operator",
        BooleanOperator = "boolean_operator",
        NotOperator = "not_operator",
        BinaryOperator = "binary_operator",
        UnaryOperator = "unary_operator",
        ConditionalExpression = "conditional_expression",
        ParenthesizedExpression = "parenthesized_expression",
        Type = "type",
        Comment = "comment",
    }
    tokens {
        And = "and",
        Or = "or",
        Is = "is",
        IsNot = "is not",
        Equal = "==",
        NotEqual = "!=",
        Less = "<",
        LessEqual = "<=",
        Greater = ">",
        GreaterEqual = ">=",
        In = "in",
        NotIn = "not in",
        Plus = "+",
        Minus = "-",
        Times = "*",
    }
}

macro_rules! fields {
    ($($field:ident = $text:literal,)*) => {
        /// The relation of a node to its parent.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum Field {
            /// A child without a field, or with a field that no rule uses.
            Other,
            $($field,)*
        }

        const FIELDS: &[(&str, Field)] = &[$(($text, Field::$field),)*];
    };
}

fields! {
    Alias = "alias",
    Alternative = "alternative",
    Argument = "argument",
    Arguments = "arguments",
    Attribute = "attribute",
    Body = "body",
    Condition = "condition",
    Consequence = "consequence",
    Definition = "definition",
    Function = "function",
    Key = "key",
    Left = "left",
    ModuleName = "module_name",
    Name = "name",
    Object = "object",
    Operator = "operator",
    Operators = "operators",
    Parameters = "parameters",
    Right = "right",
    Subscript = "subscript",
    Superclasses = "superclasses",
    Value = "value",
}

impl Kind {
    /// True for the `==` of `a == b` and other comparison operators.
    pub fn is_ordering(self) -> bool {
        matches!(
            self,
            Kind::Less | Kind::LessEqual | Kind::Greater | Kind::GreaterEqual
        )
    }
}

fn kind_of(text: &str, named: bool) -> Kind {
    let other = if named { Kind::Other } else { Kind::Skipped };
    LISTED
        .iter()
        .find(|(listed, is_named, _)| *listed == text && *is_named == named)
        .map_or(other, |(_, _, kind)| *kind)
}

fn field_of(text: &str) -> Field {
    FIELDS
        .iter()
        .find(|(listed, _)| *listed == text)
        .map_or(Field::Other, |(_, field)| *field)
}

/// Python's grammar. A handle to static tables, which is free to create.
pub(super) fn language() -> Language {
    Language::new(tree_sitter_python::LANGUAGE)
}

/// The grammar's numbers, converted once.
pub(super) struct Grammar {
    kinds: Vec<Kind>,
    fields: Vec<Field>,
}

impl Grammar {
    pub(super) fn python() -> &'static Grammar {
        static GRAMMAR: OnceLock<Grammar> = OnceLock::new();
        GRAMMAR.get_or_init(|| {
            let language = language();
            let kinds = (0..language.node_kind_count())
                .map(|id| {
                    let id = id as u16;
                    kind_of(
                        language.node_kind_for_id(id).unwrap_or_default(),
                        language.node_kind_is_named(id),
                    )
                })
                .collect();
            // Field ids start at 1.
            let fields = (0..=language.field_count())
                .map(|id| field_of(language.field_name_for_id(id as u16).unwrap_or_default()))
                .collect();
            Grammar { kinds, fields }
        })
    }

    pub(super) fn kind(&self, id: u16) -> Kind {
        // The grammar's error symbol is past the table.
        self.kinds
            .get(usize::from(id))
            .copied()
            .unwrap_or(Kind::Error)
    }

    pub(super) fn field(&self, id: u16) -> Field {
        self.fields
            .get(usize::from(id))
            .copied()
            .unwrap_or(Field::Other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// If the grammar renamed a node, rules for that node would silently stop working.
    #[test]
    fn every_listed_kind_and_field_exists_in_the_grammar() {
        let language = language();
        for (text, named, _) in LISTED {
            assert_ne!(language.id_for_node_kind(text, *named), 0, "{text}");
        }
        for (text, _) in FIELDS {
            assert!(language.field_id_for_name(text).is_some(), "{text}");
        }
    }
}
