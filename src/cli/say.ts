/** What is for people goes beside the output: never into a log's JSON lines or a command's --json. */
export const say = (line: string): void => void process.stderr.write(`${line}\n`);
