/** A plugin of oxlint for texts of strangers. A regular expression must match any text in linear time, and a URL is parsed by `parseBoundedUrl`,
 *  which has a bound. scslre, the engine of eslint-plugin-regexp, finds the expressions whose time grows with the square of the text, or
 *  faster. test/tools/patterns.test.ts finds those among the expressions that are put together of constants when a file is loaded. */
import { RegExpParser } from "@eslint-community/regexpp";
import { analyse } from "scslre";

type Node = { type: string; parent: Node | null };
type LiteralNode = Node & { regex?: { pattern: string; flags: string }; value?: unknown };
type MemberNode = Node & { object: { name?: string }; property: { name?: string } };
type CallNode = Node & { callee: { name?: string }; arguments: { object?: Node }[] };
type PropertyNode = Node & { key: { name?: string }; value: LiteralNode };
type Context = { report: (problem: { node: unknown; message: string }) => void };

const parser = new RegExpParser();

/** Why the time of an expression is not linear; undefined if it is. */
export function findSuperLinear(source: string, flags: string): string | undefined {
  const pattern = parser.parsePattern(source, 0, source.length, { unicode: flags.includes("u"), unicodeSets: flags.includes("v") });
  const [report] = analyse({ pattern, flags: parser.parseFlags(flags) }).reports;
  return report && `Text such as ${report.character.literal.source} repeated takes more than linear time: use string methods, or a bound`;
}

const isInFunction = ({ parent }: Node): boolean => parent !== null && (parent.type.includes("Function") || isInFunction(parent));

const USE_BOUNDED = "Use parseBoundedUrl or requireUrl of lib/urls.ts, which bound the length";

export default {
  meta: { name: "godwit" },
  rules: {
    "bounded-url": {
      create: (context: Context) => ({
        MemberExpression(node: MemberNode) {
          if (node.object.name === "URL" && (node.property.name === "parse" || node.property.name === "canParse"))
            context.report({ node, message: USE_BOUNDED });
        },
        NewExpression(node: CallNode) {
          // A file beside a module: new URL("./file", import.meta.url).
          if (node.callee.name === "URL" && node.arguments[1]?.object?.type !== "MetaProperty")
            context.report({ node, message: USE_BOUNDED });
        },
      }),
    },
    "linear-regexp": {
      create: (context: Context) => {
        const check = (node: Node, source: string, flags: string): void => {
          const message = findSuperLinear(source, flags);
          if (message !== undefined) context.report({ node, message });
        };
        const requireConstant = (node: CallNode): void => {
          if (node.callee.name === "RegExp" && isInFunction(node))
            context.report({
              node,
              message: "Make the expression of constants, outside of functions: test/tools/patterns.test.ts checks it there",
            });
        };
        return {
          Literal(node: LiteralNode) {
            if (node.regex) check(node, node.regex.pattern, node.regex.flags);
          },
          // Of a JSON schema.
          Property({ key, value }: PropertyNode) {
            if (key.name === "pattern" && typeof value.value === "string") check(value, value.value, "u");
          },
          NewExpression: requireConstant,
          CallExpression: requireConstant,
        };
      },
    },
  },
};
