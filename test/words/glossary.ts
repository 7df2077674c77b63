/** Where a text stands: a string in TypeScript, a comment, Markdown, or a description or message in YAML. */
export type Place = "message" | "comment" | "markdown" | "description";

/**
 * Words that readers should not meet, and what to write instead. `words` is a pattern that ignores case and whose
 * spaces match any white space. A pattern that begins with `^` matches at the start of a sentence and respects case.
 */
export interface Row {
  words: string;
  instead: string;
  /** The places in which the row applies; undefined means all. */
  places?: Place[];
}

const the = "(?:a|an|the|each|every|one|no|next|last|first|second|same|another|later|earlier)";
const be = "(?:is|are|was|were|be)";
const where = "on|to|into|through|back|well|from|with|out|by|over|beyond|wrong|up|down|via|in|away|there";
const repeated = "tried|asked|begun|read|looked at|done|started|sent|rendered|written|told";

/** The words to replace. Only prose is compared with them, never identifiers, code spans or quotes. */
export const glossary: Row[] = [
  { words: "tell|tells|told|telling|says|said|news", instead: "report, show, mean; event, message, update" },
  { words: `${the} look|(?:between|of|all|two|three) looks|glances?`, instead: "read, snapshot" },
  { words: `${the} (?:turn|round)|in turns|(?:between|of|all|two|three) (?:turn|round)s`, instead: "reconcile" },
  { words: "nudge[sd]?|nudging|stir(?:s|red|ring)?", instead: "enqueue, requeue" },
  { words: "standings?", instead: "status; published; current decision" },
  { words: "newcomers?", instead: "new machine" },
  { words: "donors?", instead: "old node" },
  { words: "heirs?", instead: "new node" },
  { words: "papers?", instead: "pending, not ordered" },
  { words: "victims?", instead: "machine to be replaced" },
  { words: "spares?|spared", instead: "uncordon and unmark" },
  { words: "(?:lets?|letting)(?: \\w+){0,2} go|sees?(?: \\w+){0,2} off", instead: "release" },
  { words: `${be} going(?! to)`, instead: "is being deleted" },
  { words: `(?:machine|node|pool|pod|that|which|who|one) goes(?! (?:${where})\\b)`, instead: "is deleted" },
  { words: "ill|illness(?:es)?", instead: "unhealthy" },
  { words: "mishaps?|troubles?", instead: "failure" },
  { words: "doubts?|doubted", instead: "inconclusive" },
  { words: "(?:for|without|on|by|upon) a word|\\w+'s word", instead: "a command, on request" },
  { words: "ways? back|ways? of before", instead: "rollback, downgrade" },
  { words: "of before|former", instead: "previous" },
  { words: "mend(?:s|ed|ing)?", instead: "fix" },
  { words: "judge[sd]?|judging", instead: "validate, evaluate" },
  { words: "(?:our|its|such|own|these|new) kinds(?! of)", instead: "CRDs", places: ["message", "comment"] },
  { words: "kinds(?! of)", instead: "CRDs", places: ["markdown", "description"] },
  { words: "(?<!all )rights", instead: "permissions" },
  { words: "bears?|bore|borne|bearing", instead: "have" },
  { words: "carr(?:y|ies|ied|ying)(?: \\w+){0,3} (?:label|annotation|taint|mark)s?", instead: "have" },
  { words: "makers?|suppliers?", instead: "machine-controller, Auto Scaling group, …" },
  { words: "rungs?", instead: "join stage" },
  { words: "usual", instead: "typical" },
  { words: "owe[sd]?|owing", instead: "expected" },
  { words: "census(?:es)?", instead: "counts" },
  { words: "(?:gives? back|waits? for)(?: its| a| the)? places?|places? (?:are|is) taken", instead: "slot" },
  { words: "stays? (?:as (?:it|they) (?:is|are|was|were)|theirs)", instead: "is unchanged" },
  { words: `(?:${the}|all|send|failed) notices?`, instead: "notification" },
  { words: "faults? of Ostler|Ostler's faults?", instead: "internal error" },
  { words: "abreast", instead: "concurrently" },
  { words: "nobody|somebody|whoever|who asks?", instead: "a role: administrator, user, another controller" },
  {
    words: "^(?:Who|Whom|Whose|What|Those of|Those that|One that|Ones that)\\b(?![^]*\\?$)",
    instead: "a concrete noun as the subject",
  },
  { words: "(?<!there )is no(?! (?:longer|more|less|later|earlier|other|better|bigger)\\b)", instead: "is not a …" },
  { words: `where there ${be} (?:none|no|nothing)`, instead: "without" },
  { words: `${be} (?:\\w+ ){0,2}(?:${repeated}) (?:\\w+ )?again`, instead: "a subject that retries" },
  {
    words: "^(?:Cannot|Failed to)\\b(?=[^]*[^.]\\.$)",
    instead: "an error without a period at its end",
    places: ["message"],
  },
];
