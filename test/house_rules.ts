import { fileURLToPath } from "node:url";
import { plainEnglish } from "./words/plain_english.ts";

type Visitor = Deno.lint.LintVisitor;
type Context = Deno.lint.RuleContext;
type Finding = Pick<Deno.lint.ReportData, "message" | "hint">;

/** The allowed imports of the files below `path`; `!x` forbids x despite other entries, `*` is everything. */
interface Room {
  path: string;
  runtime: string[];
  types: string[];
}

/** Folders of the backends: only `activities/backends/registry.ts` imports from them. */
const backends = ["machine_controller", "node_pool", "scaling_group"].map((kind) => `activities/backends/${kind}/`);
const noBackend = backends.map((path) => `!${path}`);
const forBackends = [
  ...["activities/", "profiles/", "zod", "node:", "!node:process"],
  ...["@kubernetes/client-node", "@temporalio/activity", "@temporalio/common"],
];

/**
 * Returns the import rule of one folder of workflows/: its files may import everything of workflows/ except the folders
 * `apart`; from these folders they may not even import types.
 */
function decider(room: string, apart: string[]): Room {
  const forbidden = apart.map((other) => `!workflows/${other}/`);
  return {
    path: `workflows/${room}/`,
    runtime: ["workflows/", "@temporalio/workflow", ...forbidden],
    types: [],
  };
}

/** The import rule of each folder; the first entry whose path matches a file applies. */
export const rooms: Room[] = [
  { path: "workflows/contracts/", runtime: ["workflows/contracts/"], types: [] },
  { path: "workflows/policy/", runtime: ["workflows/policy/"], types: ["workflows/contracts/"] },
  {
    path: "workflows/status/page/",
    runtime: ["workflows/status/page/", "workflows/policy/"],
    types: ["workflows/contracts/"],
  },
  // Files of machine/ and of steps/ do not import each other, and files of state/ import neither: only other files of
  // workflows/ import both.
  decider("state", ["machine", "steps"]),
  decider("machine", ["steps"]),
  decider("steps", ["machine"]),
  {
    path: "workflows/",
    runtime: ["workflows/", "@temporalio/workflow"],
    types: ["*", "!workers/", "!cli/", "!deploy/", "!test/", ...noBackend],
  },
  { path: "profiles/", runtime: ["profiles/", "zod", "eta", "node:"], types: [] },
  // A backend imports neither another backend nor the registry; the registry passes to each what it needs of the
  // others.
  ...backends.map((path) => ({
    path,
    runtime: [...forBackends, "!activities/backends/registry.ts", ...noBackend.filter((other) => other !== `!${path}`)],
    types: ["workflows/contracts/"],
  })),
  { path: "activities/backends/registry.ts", runtime: forBackends, types: ["workflows/contracts/"] },
  { path: "activities/backends/", runtime: [...forBackends, ...noBackend], types: ["workflows/contracts/"] },
  {
    path: "activities/temporal/",
    runtime: ["activities/temporal/", "profiles/settings/", "node:", "!node:process", "@temporalio/envconfig"],
    types: ["@temporalio/worker"],
  },
  {
    path: "activities/",
    runtime: [
      ...[
        "activities/",
        ...noBackend,
        "profiles/",
        "zod",
        "croner",
        "semver",
        "@peculiar/x509",
        "node:",
        "!node:process",
      ],
      ...[
        "@aws-sdk/client-auto-scaling",
        "@aws-sdk/client-ec2",
        "@googleapis/compute",
        "@azure/arm-compute",
        "@azure/identity",
      ],
      ...["@kubernetes/client-node", "@temporalio/activity", "@temporalio/common"],
    ],
    types: ["workflows/contracts/"],
  },
  {
    path: "cli/",
    runtime: [
      ...["cli/", "package.json", "workflows/contracts/", "workflows/policy/", "workflows/status/page/"],
      ...["workflows/commands/messages.ts", "workflows/commands/start_options.ts", "workflows/status/remedies.ts"],
      // Pure functions of the upgrade of Kubernetes: its steps, halts, order and reasons.
      ...["next_upgrade_step", "upgrade_halts", "upgrade_order", "upgrade_reasons"].map((file) =>
        `workflows/kubernetes/${file}.ts`
      ),
      ...[
        "profiles/",
        "activities/cluster.ts",
        "activities/kube/",
        "activities/temporal/",
        "activities/node/",
        "activities/pool/",
      ],
      ...["activities/backends/registry.ts", "activities/backends/contract.ts"],
      ...[
        "activities/policy/",
        "activities/status/",
        "activities/handover/",
        "activities/kubernetes/",
        "activities/node_version/group_nodes.ts",
        "activities/node_version/version_release.ts",
      ],
      ...["node:", "zod", "@kubernetes/client-node", "@temporalio/client", "@temporalio/common", "@temporalio/worker"],
      ...["cli-table3", "commander", "diff", "log-update", "yaml"],
    ],
    types: [],
  },
  { path: "deploy/local/", runtime: ["*", "!workers/", "!cli/", "!test/", ...noBackend], types: [] },
  // The release tools build image, chart and archives with the same tools as the demo.
  { path: "deploy/release/", runtime: ["*", "!workers/", "!cli/", "!test/", ...noBackend], types: [] },
  { path: "deploy/", runtime: ["*", "!workers/", "!cli/", "!test/", "!deploy/local/", ...noBackend], types: [] },
  {
    path: "workers/",
    runtime: ["*", "!test/", "!deploy/local/", ...noBackend],
    types: ["*", "!deploy/local/", ...noBackend],
  },
  { path: "test/", runtime: ["*"], types: [] },
];

const root = fileURLToPath(new URL("../", import.meta.url));

function housePath(filename: string): string {
  const plain = filename.replaceAll("\\", "/");
  return plain.startsWith(root) ? plain.slice(root.length) : plain.replace(/^\.\//, "");
}

function roomOf(path: string): Room | undefined {
  return rooms.find((room) => path.startsWith(room.path));
}

function fits(pattern: string, target: string): boolean {
  if (pattern === "*" || pattern === target) return true;
  return target.startsWith(/[/:]$/.test(pattern) ? pattern : `${pattern}/`);
}

function allows(patterns: string[], target: string): boolean {
  if (patterns.some((pattern) => pattern.startsWith("!") && fits(pattern.slice(1), target))) return false;
  return patterns.some((pattern) => fits(pattern, target));
}

function isRelative(specifier: string): boolean {
  return /^\.\.?(\/|$)/.test(specifier);
}

function targetOf(path: string, specifier: string): string {
  if (!isRelative(specifier)) return specifier;
  return new URL(specifier, `house:///${path}`).pathname.slice(1);
}

function judgeImport(path: string, specifier: string, asType: boolean): Finding | undefined {
  if (/^(?!node:)([a-z]+:|\/)/.test(specifier)) {
    return {
      message: `Cannot import "${specifier}": it is neither a bare name nor relative`,
      hint: `Name the package in package.json and import it by that name`,
    };
  }
  const room = roomOf(path);
  if (room === undefined) return undefined;
  const target = targetOf(path, specifier);
  if (allows(room.runtime, target) || (asType && allows(room.types, target))) return undefined;
  const list = (patterns: string[]): string => patterns.join(", ") || "nothing";
  return {
    message: `Cannot import "${target}" into ${room.path} ${
      asType ? "as a type" : "at runtime"
    }: the import law forbids it`,
    hint: !asType && allows(room.types, target)
      ? `Use "import type": ${room.path} may know it, but not run it`
      : `${room.path} may import ${list(room.runtime)}; as types also ${
        list(room.types)
      }. Pass anything else in as a parameter`,
  };
}

function judgeExtension(_path: string, specifier: string): Finding | undefined {
  if (!isRelative(specifier) || /\/[^/]+\.(?!m?js$)[a-z0-9]+$/.test(specifier)) return undefined;
  return {
    message: `Cannot resolve "${specifier}": a relative import names its file`,
    hint: `Write the whole file name, with .ts`,
  };
}

type Judge = (path: string, specifier: string, asType: boolean) => Finding | undefined;

/** Calls `judge` wherever a module names another module: in import, export from, import() and import types. */
function importVisitor(context: Context, judge: Judge): Visitor {
  const path = housePath(context.filename);
  const see = (node: Deno.lint.Node, source: Deno.lint.Node | null, asType: boolean): void => {
    if (source?.type !== "Literal" || typeof source.value !== "string") return;
    const finding = judge(path, source.value, asType);
    if (finding !== undefined) context.report({ node, ...finding });
  };
  return {
    ImportDeclaration: (node) => see(node, node.source, node.importKind === "type"),
    ExportNamedDeclaration: (node) => see(node, node.source, node.exportKind === "type"),
    ExportAllDeclaration: (node) => see(node, node.source, node.exportKind === "type"),
    ImportExpression: (node) => see(node, node.source, false),
    TSImportType: (node) => see(node, node.argument.type === "TSLiteralType" ? node.argument.literal : null, true),
  };
}

function importLaw(context: Context): Visitor {
  const visitor = importVisitor(context, judgeImport);
  const { ImportExpression } = visitor;
  return {
    ...visitor,
    ImportExpression(node): void {
      ImportExpression?.(node);
      if (node.source.type === "Literal" || housePath(context.filename).startsWith("test/")) return;
      context.report({
        node,
        message: "Cannot check this import: its name is not a literal",
        hint: "Import by a literal name, or look the value up in an object",
      });
    },
  };
}

function fileName(context: Context): Visitor {
  const path = housePath(context.filename);
  const parts = path.replace(/\.tsx?$/, "").split("/");
  const empty = parts.find((part) => /^(utils?|helpers?|common|types|misc|enums)$/.test(part));
  const odd = parts.find((part) => !/^\.?[a-z0-9]+(_[a-z0-9]+)*$/.test(part));
  const report = (message: string, hint: string): void => context.report({ range: [0, 1], message, hint });
  return {
    Program(): void {
      if (path.startsWith("/")) return;
      if (roomOf(path) === undefined) {
        report(
          `Cannot check "${path}": no import rule covers its folder`,
          `Folders with rules: ${rooms.map((it) => it.path).join(", ")}`,
        );
      }
      if (empty !== undefined) {
        report(`Cannot name a file "${empty}": the name has no meaning`, "Name the concept it holds");
      }
      if (odd !== undefined) {
        report(`Cannot name a file "${odd}": it is not snake_case`, "Lower case, words joined by _");
      }
    },
  };
}

function fileLength(context: Context): Visitor {
  const limit = housePath(context.filename).startsWith("test/") ? 600 : 400;
  const lines = context.sourceCode.text.replace(/\n$/, "").split("\n").length;
  return {
    Program(): void {
      if (lines <= limit) return;
      const message = `Cannot keep a file of ${lines} lines: ${limit} is the limit`;
      context.report({ range: [0, 1], message, hint: "Split it by concept; 40 to 100 lines read best" });
    },
  };
}

type FunctionNode = Deno.lint.FunctionDeclaration | Deno.lint.FunctionExpression | Deno.lint.ArrowFunctionExpression;

function functionSize(context: Context): Visitor {
  if (housePath(context.filename).startsWith("test/")) return {};
  const see = (node: FunctionNode): void => {
    const lines = context.sourceCode.getText(node).split("\n").length;
    if (lines > 60) {
      const message = `Cannot keep a function of ${lines} lines: 60 is the limit`;
      context.report({ node, message, hint: "Name its steps and make each a function" });
    }
    if (node.params.length > 3) {
      const message = `Cannot take ${node.params.length} parameters: 3 is the limit`;
      context.report({ node, message, hint: "Name the concept they form and take one object" });
    }
  };
  return { FunctionDeclaration: see, FunctionExpression: see, ArrowFunctionExpression: see };
}

const impure = ["performance", "Deno", "process", "fetch", "crypto", "setInterval"];
const impureHint =
  "A workflow only decides: let an activity do it, or use what @temporalio/workflow offers (sleep, uuid4)";

function isReference(node: Deno.lint.Identifier): boolean {
  const parent = node.parent as Deno.lint.Node;
  if (parent.type === "MemberExpression") return parent.object === node || parent.computed;
  if (parent.type === "Property") return parent.value === node || parent.computed;
  return !/^TS|^(MethodDefinition|PropertyDefinition|ImportSpecifier|ExportSpecifier|LabeledStatement)$/.test(
    parent.type,
  );
}

function deterministicWorkflows(context: Context): Visitor {
  const path = housePath(context.filename);
  if (!path.startsWith("workflows/")) return {};
  const isPolicy = /^workflows\/(policy|status\/page)\//.test(path);
  const report = (node: Deno.lint.Node, what: string, hint: string): void =>
    context.report({ node, message: `Cannot use ${what} in ${path}: a workflow must replay to the same end`, hint });
  const clockHint = isPolicy ? "Take the time as a parameter, in milliseconds" : "Use Date.now(), which replays";
  return {
    Identifier(node): void {
      if (impure.includes(node.name) && isReference(node)) report(node, node.name, impureHint);
    },
    MemberExpression(node): void {
      const text = context.sourceCode.getText(node).replaceAll("?.", ".");
      const isGlobal = /^globalThis\.\w+$/.test(text) && impure.includes(text.slice("globalThis.".length));
      if (isGlobal) report(node, text, impureHint);
      if (/^(globalThis\.)?Temporal\.Now$/.test(text)) report(node, "Temporal.Now", clockHint);
      if (isPolicy && (text === "Date.now" || text === "Math.random")) report(node, text, clockHint);
    },
    NewExpression(node): void {
      if (context.sourceCode.getText(node.callee) !== "Date" || node.arguments.length > 0) return;
      report(node, "new Date()", clockHint);
    },
    CallExpression(node): void {
      if (context.sourceCode.getText(node.callee) === "Date") report(node, "Date()", clockHint);
    },
  };
}

function environmentAtTheEdge(context: Context): Visitor {
  if (/^(workers|deploy|cli|test|workflows)\//.test(housePath(context.filename))) return {};
  return {
    MemberExpression(node): void {
      const text = context.sourceCode.getText(node);
      if (!/^(globalThis\.)?(Deno|process)\.env$/.test(text)) return;
      context.report({
        node,
        message: `Cannot read ${text} here: only workers/, deploy/, cli/ and test/ read the environment`,
        hint: "Read it in workers/config.ts and pass the value in as a parameter",
      });
    },
  };
}

function endOf(node: Deno.lint.Node | undefined): string {
  if (node?.type === "Literal" && typeof node.value === "string") return node.value;
  if (node?.type === "TemplateLiteral") return node.quasis.at(-1)?.cooked ?? "";
  return node?.type === "BinaryExpression" ? endOf(node.right) : "";
}

function errorMessage(context: Context): Visitor {
  const see = (node: Deno.lint.NewExpression | Deno.lint.CallExpression): void => {
    const callee = context.sourceCode.getText(node.callee);
    if (!/(^|\.)\w*(Error|Failure)$|^ApplicationFailure\.\w+$/.test(callee)) return;
    if (!/(^|[^.])\.$/.test(endOf(node.arguments[0]))) return;
    context.report({
      node,
      message: "Cannot end an error message with a period: other error messages quote it",
      hint: 'Write: Cannot <attempted> "<what>": <present state>',
    });
  };
  return { NewExpression: see, CallExpression: see };
}

const plugin: Deno.lint.Plugin = {
  name: "house",
  rules: {
    "import-law": { create: importLaw },
    "import-extension": { create: (context) => importVisitor(context, judgeExtension) },
    "file-name": { create: fileName },
    "file-length": { create: fileLength },
    "function-size": { create: functionSize },
    "deterministic-workflows": { create: deterministicWorkflows },
    "environment-at-the-edge": { create: environmentAtTheEdge },
    "error-message": { create: errorMessage },
    "plain-english": { create: (context) => plainEnglish(context, housePath(context.filename)) },
  },
};

/** Lint plugin for the rules of this repository; every finding describes its fix. */
export default plugin;
