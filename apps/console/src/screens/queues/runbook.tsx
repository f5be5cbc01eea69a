/** Runbooks are pages of the repository; the console names the file, which also opens beside the code and offline. */
export function Runbook({ path }: { path: string | null | undefined }) {
  if (!path) return null;
  return (
    <>
      · runbook <code>{path.replace('docs/runbooks/', '')}</code>
    </>
  );
}
