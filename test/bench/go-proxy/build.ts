/** A reverse proxy in Go. */
import { goProgram, noGo, type GoProgram } from '../go-program.ts'
import type { Bench } from '../measure.ts'

export { noGo }

/** The proxy before a port of loopback, with a certificate behind TLS; undefined without Go. */
export const goProxy = (
  bench: Bench,
  upstream: number,
  tls?: { readonly cert: string; readonly key: string },
): Promise<GoProgram | undefined> =>
  goProgram(bench, new URL('main.go', import.meta.url), String(upstream), ...(tls ? [tls.cert, tls.key] : []))
