/** npm run bench -- NAME [flags]: runs one of the benchmarks in this folder. */
const BENCHMARKS = [
  "accept",
  "deliver",
  "fairness",
  "gateway",
  "guard",
  "latency",
  "nodes",
  "overload",
  "size",
  "soak",
  "uploads",
  "webhooks",
  "workers",
];

const HELP = `Usage: npm run bench -- NAME [flags]

  accept     cost of a durable, idempotent accept, beside a bare echo, a framework and the SQL
             [--rounds 5] [--seconds 8] [--connections 64] [--preload 0] [--kannel | --twilio]
  deliver    cost from the request to the receipt, latency, fairness, long queues
             [--rounds 3] [--seconds 10] [--connections 64] [--backlog 1000000] [--campaign 100000]
             [--only cost,latency,fairness,backlog]
  fairness   time of one account's sends while another account does its worst
             [--rounds 3] [--seconds 8] [--rate 50] [--preload 200000] [--only "messages;streams"]
  gateway    HTTP in, SMPP out, beside Kannel
             [--rounds 3] [--seconds 8] [--connections 64] [--window 500] [--kills 2] [--soak 1000000]
             [--workers 2]
  guard      compares the ratios with bench/guard.json, in about two minutes
             [--write]
  latency    time of one client's 202, beside one durable insert over HTTP
             [--rounds 10] [--seconds 4]
  nodes      one, two and three nodes on one PostgreSQL server
             [--nodes 1,2,3] [--rounds 3] [--seconds 6] [--connections 96]
  overload   ten times the connections that saturate the service, for a minute
             [--connections 64] [--times 10] [--seconds 60]
  size       a database with ten million messages beside an empty one
             [--messages 10000000] [--rounds 5] [--seconds 6]
  soak       an hour at half of the maximum rate, with delivery and webhooks
             [--minutes 60] [--share 0.5 | --rate 450]
  uploads    memory of a node with a thousand uploads at once
             [--uploads 1000] [--bytes 5242880]
  webhooks   rate and delay of webhook deliveries, beside a bare loop of posts
             [--rounds 3] [--deliveries 20000] [--endpoints 200] [--dead 10] [--seconds 20] [--rate 4]
  workers    accept with one and with several workers
             [--workers 1,2] [--rounds 8] [--seconds 5] [--connections 64] [--roles api]

Two commits (accept, deliver, gateway and webhooks):

  --against REF    compares this checkout with the commit REF, in place of the other peers
  --within SHARE   exits with 1 if throughput or CPU is worse by more than this share, for example 0.05

bench/README.md describes each of them.
`;

const [name = "", ...rest] = process.argv.slice(2);
if ([name, ...rest].some((word) => word === "--help" || word === "-h")) {
  process.stdout.write(HELP);
} else if (BENCHMARKS.includes(name)) {
  process.argv.splice(2, process.argv.length, ...rest);
  await import(`./${name}.ts`);
} else {
  process.stderr.write(HELP);
  process.exitCode = 2;
}
