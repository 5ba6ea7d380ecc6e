/** Uploads as clients make them, to a real server. */
import type { Answer, Server } from './server.ts'

export interface Asked extends Answer {
  /** Where to send the sources. */
  readonly url: string
}

/** Asks for a place for an upload. */
export const ask = async (s: Server, method: 'POST' | 'PUT', path: string, body: unknown): Promise<Asked> => {
  const answer = await fetch(new URL(path, s.url), {
    method,
    headers: { authorization: `Bearer ${s.key}`, 'content-type': 'application/json', 'svc-version': '2026-04-28' },
    body: JSON.stringify(body),
  })
  const text = await answer.text()
  return { status: answer.status, text, body: JSON.parse(text), url: answer.headers.get('x-svc-upload-url') ?? '' }
}

/** Sends the sources, without a credential; resolves with the status. */
export const send = async (url: string, archive: Buffer): Promise<number> => {
  const answer = await fetch(url, {
    method: 'PUT',
    headers: { 'content-type': 'application/zip' },
    body: new Uint8Array(archive),
  })
  await answer.arrayBuffer()
  return answer.status
}

/** Polls a path until `look` is true of the answer's body. */
export const until = async (
  s: Server,
  path: string,
  look: (body: Answer['body']) => boolean,
  withinMs = 200_000,
): Promise<Answer['body']> => {
  for (const end = performance.now() + withinMs; ; ) {
    const { body } = await s.call('GET', path)
    if (look(body)) return body
    if (performance.now() > end) throw new Error(`${path} stays ${JSON.stringify(body)}`)
    await new Promise(resolve => setTimeout(resolve, 50))
  }
}

export const statuses = (body: Answer['body']): string[] =>
  (body.events as { status: string }[]).map(({ status }) => status).filter((status, at, all) => status !== all[at - 1])
