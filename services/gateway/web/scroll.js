// Keeps the newest text in sight, unless the reader has scrolled away from it.

const NEAR_PX = 60;
const FAR_PX = 240;

export class Follower {
  #frame;
  #button;
  #isFollowing = true;
  #lastTop = 0;

  /** `frame` scrolls, `content` grows in it, `button` leads back to the end. */
  constructor(frame, content, button) {
    this.#frame = frame;
    this.#button = button;
    frame.addEventListener("scroll", () => this.#note(), { passive: true });
    button.addEventListener("click", () => this.toEnd());
    new ResizeObserver(() => this.#grown()).observe(content);
  }

  toEnd = () => {
    this.#isFollowing = true;
    this.#grown();
  };

  #grown() {
    if (this.#isFollowing) this.#frame.scrollTop = this.#frame.scrollHeight;
    this.#showButton();
  }

  #note() {
    const { scrollTop } = this.#frame;
    if (this.#below() < NEAR_PX) this.#isFollowing = true;
    // Only a movement upwards is the reader's; text that grows moves nothing.
    else if (scrollTop < this.#lastTop) this.#isFollowing = false;
    this.#lastTop = scrollTop;
    this.#showButton();
  }

  #below() {
    return this.#frame.scrollHeight - this.#frame.clientHeight - this.#frame.scrollTop;
  }

  #showButton() {
    this.#button.hidden = this.#isFollowing || this.#below() < FAR_PX;
  }
}
