/** A response whose body is a record. */

export const jsonResponse = (record: unknown, status = 200): { status: number; body: string } => ({ status, body: JSON.stringify(record) });
