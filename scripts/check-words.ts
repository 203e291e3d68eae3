/** Checks the words of comments, test names and log lines, and the spelling of all texts, which is that of US English. It finds the clearest
 *  faults only; `docs/internals/words.md` has the words. */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";

const ROOT = join(import.meta.dirname, "..");
const FOLDERS = "{src,test,scripts,bench,chaos,fuzz,sdk,sdk-python,console,site,examples}";
const CODE = /\.(?:tsx?|sql)$/;

// These name the words that they replace, or quote other programs, or may not be changed any more.
const EXEMPT = /node_modules|\/dist\/|check-words\.ts$|\/migrations\/|sdk.src.schema\.ts$/;

type Rule = readonly [advice: string, pattern: RegExp];

const EVERYWHERE: readonly Rule[] = [
  ["name the component instead of nobody or whoever", /\b(?:nobody|whoever)\b/i],
  ["write reported, notified or returned instead of told", /\btold\b/i],
  ["write only instead of alone", /\balone\b/i],
];
const IN_COMMENTS: readonly Rule[] = [
  ...EVERYWHERE,
  ["divide the chain of three of", /\bof\b[^.,;:()]*\bof\b[^.,;:()]*\bof\b/],
  ["name the subject of the sentence", /(?:^|[.:;] )(?:What|Who|Whoever|Whatever|Whom|Of what|Of whom)\b/],
];
const IN_NAMES_AND_LOGS: readonly Rule[] = [...EVERYWHERE, ["write has ended instead of is over", /\bis over\b/i]];

const SPELLING: Rule = [
  "use the spelling of US English",
  /(?:recogn|normal|serial|synchron|sanit|initial|optim|organ|author|custom|minim|maxim|summar|categor|priorit|emphas|util|visual|general|special|standard|central|local|token|random|anonym|canonical)is(?:e|ing|ation)|analyse(?! \} from|\()|colour|behaviour|favour|honour|neighbour|\blicence|cancell(?:ed|ing)|centre|catalogue|\bgrey|labell(?:ed|ing)\b|travell(?:ed|ing|er)|modell(?:ed|ing)|fulfils|defence|judgement|learnt(?!_at)|ageing|misspelt|\btowards\b|whilst|amongst/i,
];

const COMMENT = /\/\*\*?([\s\S]*?)\*\/|(?<![:"'`\w])\/\/(.*(?:\n\s*\/\/.*)*)/g;
const SQL_COMMENT = /--(.*(?:\n\s*--.*)*)/g;
const LITERAL = /(["'`])((?:\\.|(?!\1)[\s\S])*)\1/g;

const oneLine = (text: string): string => text.replaceAll(/\s+/g, " ").trim();

/** The comments of a file, each in one line. */
function commentsOf(path: string, text: string): string[] {
  const found = text.matchAll(path.endsWith(".sql") ? SQL_COMMENT : COMMENT);
  return Array.from(found, ([, block, lines]) => oneLine((block ?? lines ?? "").replaceAll(/\n\s*(?:\*|\/\/|--)?/g, " ")));
}

/** The names of tests and suites that are written as literals, and the first text of a row, which names the test of the row. */
const namesOf = (text: string): string[] =>
  [/\b(?:test|describe)\(\s*(["'`])((?:\\.|(?!\1)[\s\S])*)\1/g, /^\s*\[\s*(["'`])((?:\\.|(?!\1)[\s\S])*)\1,/gm]
    .flatMap((pattern) => Array.from(text.matchAll(pattern), ([, , name]) => name ?? ""))
    .map(oneLine);

/** The texts in the calls that write to the log. */
const logTextsOf = (text: string): string[] =>
  Array.from(text.matchAll(/\b(?:log\??\.(?:info|warn|error)|reportError)\([^;]*/g), ([call]) =>
    Array.from(call.matchAll(LITERAL), ([, , literal]) => oneLine(literal ?? "")),
  ).flat();

const faultsIn = (sentences: readonly string[], rules: readonly Rule[]): string[] =>
  sentences.flatMap((sentence) => rules.filter(([, pattern]) => pattern.test(sentence)).map(([advice]) => `${advice}: ${sentence}`));

function faultsOf(path: string): string[] {
  const text = readFileSync(join(ROOT, path), "utf8");
  return [
    ...faultsIn(text.split("\n"), [SPELLING]),
    ...(CODE.test(path) ? faultsIn(commentsOf(path, text), IN_COMMENTS) : []),
    ...(CODE.test(path) ? faultsIn([...(path.endsWith(".test.ts") ? namesOf(text) : []), ...logTextsOf(text)], IN_NAMES_AND_LOGS) : []),
  ].map((fault) => `${path}: ${fault}`);
}

const paths = globSync(
  [
    `${FOLDERS}/**/*.{ts,tsx,sql,py,css,md}`,
    "docs/*.md",
    "docs/internals/*.md",
    "{README,ARCHITECTURE,CONTRIBUTING,SECURITY,CODE_OF_CONDUCT}.md",
  ],
  {
    cwd: ROOT,
  },
).filter((path) => !EXEMPT.test(path));
const faults = paths.flatMap(faultsOf);
process.stdout.write(faults.map((fault) => `${fault}\n`).join(""));
if (faults.length > 0 || paths.length < 500) process.exitCode = 1;
