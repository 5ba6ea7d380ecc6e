/**
 * How many new names a sandbox may have looked up. Under `*.example.com` every label is a message to whoever serves example.com:
 * what a program needs is little, what a tunnel needs is much.
 */

interface Bucket {
  names: number
  bytes: number
  at: number
}

export interface NameBudget {
  /** Takes a name that nobody has looked up lately; false when there is no more for its parent. */
  take(name: string): boolean
}

/** For each parent domain: so many at once, so many a minute from then on. */
const burst = { names: 200, bytes: 6_000 } as const
const perMinute = { names: 60, bytes: 1_200 } as const
const maxParents = 512

/** The last two labels, or three below a suffix of short labels (`co.uk`): close enough, a finer one would allow more. */
const parentOf = (name: string): string => {
  const labels = name.split('.')
  const short = labels.length > 2 && (labels.at(-1) as string).length === 2 && (labels.at(-2) as string).length <= 3
  return labels.slice(short ? -3 : -2).join('.')
}

export const createNameBudget = (deps: { now: () => number }): NameBudget => {
  const { now } = deps
  const buckets = new Map<string, Bucket>()
  const refill = (bucket: Bucket): void => {
    const minutes = (now() - bucket.at) / 60_000
    bucket.names = Math.min(burst.names, bucket.names + minutes * perMinute.names)
    bucket.bytes = Math.min(burst.bytes, bucket.bytes + minutes * perMinute.bytes)
    bucket.at = now()
  }
  const bucketOf = (parent: string): Bucket => {
    const found = buckets.get(parent)
    if (found) {
      refill(found)
      return found
    }
    // A full table has no room for parents made up to be new.
    const key = buckets.size < maxParents ? parent : ''
    const bucket = buckets.get(key) ?? { ...burst, at: now() }
    buckets.set(key, bucket)
    return bucket
  }
  return {
    take(name) {
      const parent = parentOf(name)
      const bucket = bucketOf(parent)
      const bytes = name.length - parent.length
      if (bucket.names < 1 || bucket.bytes < bytes) return false
      bucket.names--
      bucket.bytes -= bytes
      return true
    },
  }
}
