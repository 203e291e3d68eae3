/** The key of the audit chains, for tests that call the code of a node. */
import { openChainKey, type ChainKey } from "../../src/audit/chain.ts";
import { SecretBox } from "../../src/lib/secret-box.ts";
import type { Database } from "../../src/database/database.ts";
import { SECRET_KEY } from "./harness.ts";

/** Of a database without audit entries. */
export const NO_CHAIN_KEY: ChainKey = { bytes: Buffer.alloc(32), unkeyedUntilMs: -1 };

/** The key that the nodes of this database have. */
export const chainKeyOf = (db: Database): Promise<ChainKey> => openChainKey(db, new SecretBox(Buffer.from(SECRET_KEY, "base64")));
