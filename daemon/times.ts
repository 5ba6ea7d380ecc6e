const pad = (value: number) => String(value).padStart(2, '0')

/** Nanoseconds since the epoch in RFC 3339, with nanoseconds (trailing zeros dropped) and the local offset. */
export const rfc3339 = (ns: bigint): string => {
  let seconds = Number(ns / 1_000_000_000n)
  let rest = Number(ns % 1_000_000_000n)
  if (rest < 0) {
    rest += 1_000_000_000
    seconds--
  }
  const at = new Date(seconds * 1000)
  const west = at.getTimezoneOffset()
  const local = west === 0 ? at : new Date(at.getTime() - west * 60_000)
  const sign = west > 0 ? '-' : '+'
  const zone = west === 0 ? 'Z' : `${sign}${pad(Math.trunc(Math.abs(west) / 60))}:${pad(Math.abs(west) % 60)}`
  const fraction = rest === 0 ? '' : `.${String(rest).padStart(9, '0').replace(/0+$/, '')}`
  return `${local.toISOString().slice(0, -5)}${fraction}${zone}`
}

/** Milliseconds since the epoch in RFC 3339, in whole seconds of UTC. */
export const rfc3339Seconds = (epochMs: number): string => new Date(epochMs).toISOString().replace(/\.\d{3}Z$/, 'Z')
