/** Rows with columns one below the other. */
export const tableLines = (columns: readonly string[], rows: readonly (readonly string[])[]): string[] => {
  const all = [columns, ...rows]
  const widths = columns.map((_, at) => Math.max(...all.map(row => (row[at] ?? '').length)))
  return all.map(row =>
    row
      .map((cell, at) => cell.padEnd(widths[at] ?? 0))
      .join('  ')
      .trimEnd(),
  )
}
