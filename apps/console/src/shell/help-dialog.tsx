import { Modal } from '../parts/modal.js';
import { places, switchKeys, useKeysOn } from './keys.js';

const others = [
  ['/', 'Search box'],
  ['j  k', 'Next and previous row of a list'],
  ['x', 'Select the row'],
  ['Enter', 'Open the row'],
  ['Esc', 'Close a dialog'],
  ['?', 'This page'],
] as const;

export function HelpDialog({ onClose }: { onClose: () => void }) {
  const on = useKeysOn();
  return (
    <Modal title="Keys" onClose={onClose}>
      <div className="inside">
        <div className="halves">
          <dl className="facts">
            {others.map(([key, what]) => (
              <div key={key} style={{ display: 'contents' }}>
                <dt>
                  <kbd>{key}</kbd>
                </dt>
                <dd>{what}</dd>
              </div>
            ))}
          </dl>
          <dl className="facts">
            {Object.entries(places).map(([key, { name }]) => (
              <div key={key} style={{ display: 'contents' }}>
                <dt>
                  <kbd>g</kbd> <kbd>{key}</kbd>
                </dt>
                <dd>{name}</dd>
              </div>
            ))}
          </dl>
        </div>
        <label className="row">
          <input type="checkbox" checked={on} onChange={(event) => switchKeys(event.target.checked)} />
          Single keys do something
        </label>
        <footer>
          <button type="button" onClick={onClose}>
            Close
          </button>
        </footer>
      </div>
    </Modal>
  );
}
