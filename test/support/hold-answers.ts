/** Every answer that an end-to-end test gets by a server's `call` is held to the document of its API. */
import { held, heldDaemon, type ProblemOf } from './held.ts'

/** Errors of the gateway itself have a body of their own, on the addresses of every sandbox. */
const gatewayProblem = ({ status, headers }: Response, text: string): string | undefined => {
  const { error } = JSON.parse(text)
  const isAsSaid = error.code === headers.get('x-svc-error-code') && error.status === status
  return isAsSaid && typeof error.retryable === 'boolean' ? undefined : `the gateway answers ${status} with ${text}`
}

const ofSandbox = /^\/[^/]+\/sandbox(?:es)?\/[^/?]+([/?].*)/

/**
 * Throws when an answer of either API is not as its document has it; `server` gives where the server is now. With `ownDaemon` sandboxes
 * have a daemon of the test's own, which answers what it likes.
 */
export const holdAnswers = (server: () => string, ownDaemon: boolean) => {
  // What the documents say is of the build, not of one start of it.
  let management: ProblemOf | undefined
  let sandbox: ProblemOf | undefined
  return async (method: string, answer: Response, text: string): Promise<void> => {
    const { status, url } = answer
    if (!url.startsWith(server())) return
    const target = url.slice(server().length)
    const [, inside] = ofSandbox.exec(target) ?? []
    if (inside !== undefined && ownDaemon) return
    if (inside === undefined) management ??= await held(server())
    else sandbox ??= heldDaemon()
    const problemOf = inside === undefined ? management : sandbox
    const headers = Object.fromEntries(answer.headers)
    const problem =
      headers['x-svc-source'] === 'platform' && headers['content-type']?.startsWith('application/json')
        ? gatewayProblem(answer, text)
        : problemOf?.(method, inside ?? target, { status, headers, text })
    if (problem) throw new Error(problem)
  }
}
