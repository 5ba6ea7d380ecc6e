/** Requests for a machine's daemon that the host answers itself, once they are let in and while the machine is awake. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Address, Instance } from '../../../core/store/store.ts'

export interface Answers {
  /**
   * `target` is path and query as the daemon would see them. `peek` gives the body where all of it is here already and not more than so many
   * bytes, and leaves it there.
   */
  takes(instance: Instance, method: string, target: string, peek?: (maxBytes: number) => Buffer | undefined): boolean
  /** Resolves when the answer is out or the client is gone; to `pass` for a request that is to be sent on after all. */
  answer(call: {
    readonly instance: Instance
    readonly target: string
    /** Where the machine's daemon answers. */
    readonly upstream: Address
    readonly request: IncomingMessage
    readonly response: ServerResponse
  }): Promise<'pass' | void>
}
