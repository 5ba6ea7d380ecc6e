/** Whom a browser is signed in as is asked anew when that was before the person's password was set, or the person is gone. */
import type { interactionPolicy } from 'oidc-provider'
import type { People } from '../people.ts'

export type Policy = interactionPolicy.DefaultPolicy

export const sessionPolicy = (
  { people }: { readonly people: Pick<People, 'find'> },
  { base, Check }: Pick<typeof interactionPolicy, 'base' | 'Check'>,
): Policy => {
  const policy = base()
  const isOver = new Check('session_over', 'the sign-in is over', async ctx => {
    const { accountId, loginTs = 0 } = ctx.oidc.session ?? {}
    if (accountId === undefined) return Check.NO_NEED_TO_PROMPT
    const person = await people.find(accountId)
    // Sessions know seconds.
    const holds = person !== undefined && (loginTs + 1) * 1_000 > person.sessionsFrom
    return holds ? Check.NO_NEED_TO_PROMPT : Check.REQUEST_PROMPT
  })
  policy.get('login')?.checks.add(isOver)
  return policy
}
