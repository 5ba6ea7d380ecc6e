/** Spellings that clients know from daemons written in Go. */

/** `1h2m3s`, rounded to seconds. */
export const goDuration = (seconds: number): string => {
  const whole = Math.round(seconds)
  const hours = Math.floor(whole / 3600)
  const minutes = Math.floor((whole % 3600) / 60)
  if (hours > 0) return `${hours}h${minutes}m${whole % 60}s`
  return minutes > 0 ? `${minutes}m${whole % 60}s` : `${whole}s`
}

/** `amd64` for Node's `x64`, `386` for `ia32`; the others are spelt alike. */
export const goArch = (arch: string): string => ({ x64: 'amd64', ia32: '386' })[arch] ?? arch
