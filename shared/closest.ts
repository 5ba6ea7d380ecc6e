/** Number of letters to add, drop or change to make one word of the other (Levenshtein's distance). */
const distance = (a: string, b: string): number => {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++)
      next[j] = Math.min(
        (row[j] as number) + 1,
        (next[j - 1] as number) + 1,
        (row[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1),
      )
    row = next
  }
  return row[b.length] as number
}

/** The word of `known` that `word` was probably meant to be; undefined when none is near. */
export const closest = (word: string, known: readonly string[]): string | undefined => {
  // Two letters that changed places are two changes.
  const limit = word.length < 3 ? 1 : Math.max(2, Math.floor(word.length / 4))
  const [best] = known
    .map(candidate => ({ candidate, away: distance(word.slice(0, 100), candidate) }))
    .sort((a, b) => a.away - b.away)
  return best && best.away <= limit ? best.candidate : undefined
}
