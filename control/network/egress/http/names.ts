/** Header names of the engine under every vendor prefix this box answers to. */
import type { WireNames } from '../../../../shared/wire-names.ts'

export interface HeaderNames {
  readonly requestId: readonly string[]
  /** `X-Svc-Func-`: what follows is the header or field the value went into. */
  readonly functions: readonly string[]
  /** What the daemon's local proxy says about the process that asks; never passed on. */
  readonly process: ReadonlySet<string>
  /** Lower case: what a sandbox cannot send. */
  readonly withheld: ReadonlySet<string>
}

export const headerNames = (wire: WireNames): HeaderNames => {
  const prefixed = (suffix: string) => wire.list.map(({ header }) => `X-${header}-${suffix}`)
  const process = new Set(wire.header('process'))
  return {
    requestId: prefixed('Request-Id'),
    functions: prefixed('Func-'),
    process,
    withheld: new Set([...wire.header('request-id'), ...process]),
  }
}
