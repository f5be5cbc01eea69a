/** Lets one loop sleep until something happens. A signal raised while it works is not lost. */
export class Signal {
  private raised = false;
  private wakeUp: (() => void) | undefined;

  raise(): void {
    this.raised = true;
    this.wakeUp?.();
  }

  /** Returns at the next signal, or at once if one came since the last wait, or after `timeoutMs`. */
  async wait(timeoutMs: number): Promise<void> {
    if (!this.raised && timeoutMs > 0) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, timeoutMs);
        this.wakeUp = () => {
          clearTimeout(timer);
          resolve();
        };
      });
      this.wakeUp = undefined;
    }
    this.raised = false;
  }
}
