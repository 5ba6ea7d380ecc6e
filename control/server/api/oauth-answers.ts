/** What the provider says to programs, with what clients of this API read besides. */
import type { InProcessAnswer } from '../../../shared/http/in-process.ts'
import { json, reply, type Reply } from '../../../shared/route.ts'
import { statusFor } from '../access/identity/provider/wire.ts'

const valueOf = ({ body }: InProcessAnswer): unknown => {
  try {
    return JSON.parse(body)
  } catch {
    return undefined
  }
}

/** The provider's answer, with the headers that concern it. */
export const passedOn = (answer: InProcessAnswer, status = answer.status): Reply => {
  const { 'content-type': type, 'cache-control': cache, 'www-authenticate': authenticate } = answer.headers
  return reply(
    status,
    {
      // Clients of the contract decode what says that it is plain JSON, and that alone.
      ...(type ? { 'content-type': String(type).replace(/^application\/[\w-]+\+json/, 'application/json') } : {}),
      'cache-control': cache ? String(cache) : 'no-store',
      ...(authenticate && status === 401 ? { 'www-authenticate': String(authenticate) } : {}),
    },
    answer.body,
  )
}

/** What is wrong with a request, as OAuth says it. */
export const refused = (error: string, description: string): Reply =>
  json(
    { error, error_description: description, code: 400, message: description },
    {
      status: 400,
      headers: { 'cache-control': 'no-store' },
    },
  )

/** The provider's answer, or its refusal with the members that clients of this API read besides. */
export const saidOf = (answer: InProcessAnswer): { status: number; reason: string; reply: Reply } => {
  const value = valueOf(answer) as { error?: string; error_description?: string } | undefined
  const status = statusFor(answer.status, value)
  if (status < 400 || !value?.error) return { status, reason: '', reply: passedOn(answer, status) }
  const reason = value.error_description ?? value.error
  const said = json({ ...value, code: status, message: reason }, { status, headers: { 'cache-control': 'no-store' } })
  return { status, reason, reply: said }
}
