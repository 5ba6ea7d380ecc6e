const KiB = 1024

export interface OutputLimits {
  /** Ceiling of one file in bytes; 0 turns capping off. */
  readonly maxFileBytes: number
  /** Budget of the files of all processes in bytes; 0 leaves only the ceiling. */
  readonly maxTotalBytes: number
}

const minShare = 256 * KiB

/** Bytes one file may keep when `processes` are known: each has three files. Infinity when capping is off. */
export const fileShare = ({ maxFileBytes, maxTotalBytes }: OutputLimits, processes: number): number => {
  if (maxFileBytes === 0) return Number.POSITIVE_INFINITY
  if (maxTotalBytes === 0) return maxFileBytes
  const share = Math.floor(maxTotalBytes / (3 * Math.max(1, processes)))
  return Math.min(maxFileBytes, Math.max(minShare, share))
}
