/** Whether this is `make soak`, which has time for every case; `make test` takes a sample of what is long. */
export const thorough = process.env['SOAK'] === '1'

/** All of `cases`, or every `nth` of them, the first included. */
export const sample = <Case>(cases: readonly Case[], nth: number): readonly Case[] =>
  thorough ? cases : cases.filter((_, index) => index % nth === 0)
