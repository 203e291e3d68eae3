/** A carrier that permits one connection of all nodes together, and counts its connections. Each object is the provider of one node. */
import type { Connection, Host, LinkState } from "../../src/providers/provider.ts";
import { ScriptedCarrier } from "./scripted-carrier.ts";

/** The carrier's view of the connections and messages of all nodes. */
export class Exchange {
  open = 0;
  opened = 0;
  highWater = 0;
  /** The node and the id of every message, in the order of arrival. */
  readonly sends: { node: string; id: string }[] = [];
}

export class ExclusiveCarrier extends ScriptedCarrier {
  readonly isExclusive = true;
  readonly exchange: Exchange;
  /** The connections that this node has opened. */
  opens = 0;
  state: LinkState = { kind: "connected", reason: null };
  /** Runs before a connection is opened. */
  beforeOpen: () => Promise<unknown> = async () => undefined;

  constructor(exchange: Exchange, node: string, options: { window?: number } = {}) {
    super(options);
    this.exchange = exchange;
    this.onSend = ({ message }) => exchange.sends.push({ node, id: message.id });
  }

  override async open(settings: unknown, host: Host): Promise<Connection> {
    await this.beforeOpen();
    this.opens += 1;
    this.exchange.open += 1;
    this.exchange.opened += 1;
    this.exchange.highWater = Math.max(this.exchange.highWater, this.exchange.open);
    const inner = await super.open(settings, host);
    const stateNow = (): LinkState => this.state;
    let isOpen = true;
    return {
      window: inner.window,
      get isReady() {
        return isOpen && inner.isReady;
      },
      get state() {
        return stateNow();
      },
      send: (message, signal, begin) => inner.send(message, signal, begin),
      close: async () => {
        if (isOpen) this.exchange.open -= 1;
        isOpen = false;
      },
    };
  }
}
