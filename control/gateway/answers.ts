/** Requests for a sandbox's daemon that the host answers itself, once they are let in and while the sandbox is awake. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Resource } from '../store/store.ts'
import type { Upstream } from './resolve.ts'

export interface Answers {
  /** `target` is path and query as the daemon would see them. */
  takes(method: string, target: string): boolean
  /** Resolves when the answer is out or the client is gone. */
  answer(call: {
    readonly row: Resource
    readonly target: string
    /** Where the sandbox's daemon answers. */
    readonly upstream: Upstream
    readonly request: IncomingMessage
    readonly response: ServerResponse
  }): Promise<void>
}
