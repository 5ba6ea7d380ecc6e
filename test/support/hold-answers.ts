/** Every answer that an end-to-end test gets by a server's `call` is held to the document of its API. */
import { held, heldDaemon, type ProblemOf } from './held.ts'

const ofSandbox = /^\/[^/]+\/sandbox(?:es)?\/[^/?]+([/?].*)/

/** Throws when an answer of either API is not as its document has it; `server` gives where the server is now. */
export const holdAnswers = (server: () => string) => {
  // What the documents say is of the build, not of one start of it.
  let management: ProblemOf | undefined
  let sandbox: ProblemOf | undefined
  return async (method: string, answer: Response, text: string): Promise<void> => {
    const { status, url } = answer
    if (!url.startsWith(server())) return
    const target = url.slice(server().length)
    const [, inside] = ofSandbox.exec(target) ?? []
    if (inside === undefined) management ??= await held(server())
    else sandbox ??= heldDaemon()
    const problemOf = inside === undefined ? management : sandbox
    const headers = Object.fromEntries(answer.headers)
    const problem = problemOf?.(method, inside ?? target, { status, headers, text })
    if (problem) throw new Error(problem)
  }
}
