import type { Served } from '../records/server-plane.ts'

/** Machines that so many calls at once need. */
export const neededFor = (calls: number, { concurrency, minScale, maxScale }: Omit<Served, 'port'>): number =>
  Math.max(1, minScale, Math.min(maxScale, Math.ceil(calls / concurrency)))
